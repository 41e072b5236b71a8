#include "core/base/private_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

namespace {

// Differs from the prefix of earlier versions, which used another lock and would remove live
// folders.
constexpr const char* kPrefix = "instr_bench.tmp.";
// For folders among a user's files: the search for definitions skips hidden ones.
constexpr const char* kHiddenPrefix = ".instr_bench.tmp.";
constexpr const char* kLock = ".lock";
constexpr std::time_t kMinAge = 60;  // seconds; a younger folder may not have been locked yet
// Locks of another machine that shares the folder may not be visible here.
constexpr auto kMinAgeElsewhere = std::time_t{24} * 60 * 60;

// A word that is the same in all containers of a machine, and differs after each boot.
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

// Tries several times: descriptors may run out, and another thread may be creating a file in it.
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
  if (info.st_uid != ::geteuid() || age <= (is_from_here ? kMinAge : kMinAgeElsewhere)) {
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
  // Declared after `made`, whose destructor takes the mutex if memory runs out below; locked before
  // the folder exists, so that remove_all() finds it.
  std::lock_guard guard(live().mutex);
  if (::mkdtemp(pattern.data()) == nullptr) return tl::unexpected(errno);
  made = PrivateFolder(pattern, std::nullopt);
  live().folders.insert(pattern);
  // Without a lock, if the file system has no locks; then no process removes it as abandoned
  // either.
  auto lock = FileLock::attempt(fs::path(pattern) / kLock, LockKind::kExclusive);
  if (lock) made->lock_ = std::move(*lock);
  return made;
}

bool PrivateFolder::contains(const fs::path& path) {
  return std::any_of(path.begin(), path.end(),
                     [](const fs::path& part) { return part.string().starts_with(kPrefix); });
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
  // Stays locked, so that no folder is made before the process ends. The thread that ends the
  // process may itself hold the mutex.
  if (!live().mutex.try_lock_for(std::chrono::seconds(1))) return;
  for (const fs::path& folder : live().folders) remove_whole(folder);
}

}  // namespace instr
