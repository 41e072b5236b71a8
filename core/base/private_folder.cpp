#include "core/base/private_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/base/read_file.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

// Not the prefix of earlier versions: their lock was another one, so they would take a live folder
// for an abandoned one.
constexpr const char* kPrefix = "instr_bench.tmp.";
// Among a user's files: the search for definitions skips it.
constexpr const char* kHiddenPrefix = ".instr_bench.tmp.";
constexpr const char* kLock = ".lock";
// Younger ones may not have been locked yet.
constexpr std::time_t kOldEnough = 60;  // seconds
// Locks of another machine that shares the folder may not be seen here.
constexpr auto kOldEnoughElsewhere = std::time_t{24} * 60 * 60;

// The same in all containers of a machine, different on each machine and after each boot.
const std::string& this_boot() {
  static const std::string boot = [] {
    return read_file("/proc/sys/kernel/random/boot_id", kMaxTextBytes)
        .value_or("unknown0")
        .substr(0, 8);
  }();
  return boot;
}

// Never destroyed: code that runs at exit may still need them.
struct Live {
  std::timed_mutex mutex;
  std::set<fs::path> folders;
};

Live& live() {
  static Live* const all = new Live;
  return *all;
}

// Descriptors may run out temporarily, and another thread may be creating a file in it.
void remove_whole(const fs::path& folder) {
  constexpr int kAttempts = 5;
  std::error_code error;
  for (int i = 0; i < kAttempts && (i == 0 || error); ++i) fs::remove_all(folder, error);
}

bool is_left_behind(const fs::path& folder, const std::string& prefix) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  bool is_from_here = folder.filename().string().starts_with(prefix + this_boot());
  std::time_t age = std::time(nullptr) - info.st_mtime;
  if (info.st_uid != ::geteuid() || age <= (is_from_here ? kOldEnough : kOldEnoughElsewhere)) {
    return false;
  }
  auto lock = FileLock::attempt(folder / kLock, LockKind::kExclusive);
  return lock && *lock;
}

void remove_left_behind(const fs::path& parent, const char* prefix) {
  std::error_code problem;
  for (fs::directory_iterator entry(parent, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    std::error_code ignored;
    if (is_left_behind(entry->path(), prefix)) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

Expected<PrivateFolder> PrivateFolder::make(const fs::path& parent) {
  std::error_code problem;
  fs::path where = parent.empty() ? fs::temp_directory_path(problem) : parent;
  if (problem) where = "/tmp";
  return make_named(where, kPrefix).map_error([&where](int error) {
    return Error{
        {},
        "cannot make a temporary folder in " + where.string() + ": " + std::strerror(error),
        "free some space there, or set TMPDIR to a writable folder"};
  });
}

tl::expected<PrivateFolder, int> PrivateFolder::make_in(const fs::path& parent) {
  return make_named(parent, kHiddenPrefix);
}

tl::expected<PrivateFolder, int> PrivateFolder::make_named(const fs::path& parent,
                                                           const char* prefix) {
  remove_left_behind(parent, prefix);
  std::string pattern = (parent / prefix).string() + this_boot() + ".XXXXXX";
  tl::expected<PrivateFolder, int> made = tl::unexpected(0);
  // After `made`, whose removal takes the mutex if there is no memory for the rest; before the
  // folder exists, so that remove_all() sees every one.
  std::lock_guard guard(live().mutex);
  if (::mkdtemp(pattern.data()) == nullptr) return tl::unexpected(errno);
  made = PrivateFolder(pattern, std::nullopt);
  live().folders.insert(pattern);
  // Without a lock, if the file system has none; nobody can take it for abandoned then either.
  auto lock = FileLock::attempt(fs::path(pattern) / kLock, LockKind::kExclusive);
  if (lock) made->lock_ = std::move(*lock);
  return made;
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    lock_ = std::move(other.lock_);
  }
  return *this;
}

PrivateFolder::~PrivateFolder() { remove(); }

void PrivateFolder::remove() noexcept {
  if (path_.empty()) return;
  remove_whole(path_);
  std::lock_guard guard(live().mutex);
  live().folders.erase(path_);
}

void PrivateFolder::remove_all() noexcept {
  // Never unlocked: no folder is made until the process has ended. The thread that ends it may
  // itself hold the mutex.
  if (!live().mutex.try_lock_for(std::chrono::seconds(1))) return;
  for (const fs::path& folder : live().folders) remove_whole(folder);
}

}  // namespace instr
