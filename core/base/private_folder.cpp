#include "core/base/private_folder.h"

#include <grp.h>
#include <pwd.h>
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

namespace {

constexpr int kMaxLinks = 40;  // Linux's limit

bool is_trusted(uid_t owner) {
  struct stat root {};
  // In a user namespace root may be nobody; the owner of `/` owns everything there.
  bool is_administrator = owner == 0 || (::stat("/", &root) == 0 && owner == root.st_uid);
  return is_administrator || owner == ::geteuid();
}

// A group with the user's own name and no other members: many systems give each user one, and make
// new files writable for it.
bool is_private_group(gid_t gid) {
  static std::mutex mutex;  // the C library's result is shared by all threads
  std::lock_guard lock(mutex);
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_gid != gid) return false;
  const std::string name = user->pw_name;
  const group* entry = ::getgrgid(gid);
  if (entry == nullptr || name != entry->gr_name) return false;
  for (char** member = entry->gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

bool can_others_write(const struct stat& folder) {
  if ((folder.st_mode & S_ISVTX) != 0) return false;
  bool can_group = (folder.st_mode & S_IWGRP) != 0 && !is_private_group(folder.st_gid);
  return can_group || (folder.st_mode & S_IWOTH) != 0;
}

Expected<void> check_component(const fs::path& path, const struct stat& info) {
  if (!is_trusted(info.st_uid)) {
    return fail("'" + path.string() +
                "' belongs to another user, who can put anything in its place");
  }
  if (S_ISDIR(info.st_mode) && can_others_write(info)) {
    return fail("others may write to '" + path.string() + "'",
                "run: chmod go-w '" + path.string() + "'");
  }
  return {};
}

Expected<void> check_components(const fs::path& path, int links_left) {
  fs::path at;
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (*part == "..") at = at.parent_path();
    if (*part == ".." || *part == ".") continue;
    fs::path next = at / *part;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) return {};  // opening it reports the error
    TRY(check_component(next, info));
    if (!S_ISLNK(info.st_mode)) {
      at = std::move(next);
      continue;
    }
    std::error_code problem;
    fs::path target = at / fs::read_symlink(next, problem);
    if (problem || links_left == 0) return fail("cannot follow '" + next.string() + "'");
    while (++part != path.end()) target /= *part;
    return check_components(target, links_left - 1);
  }
  return {};
}

}  // namespace

Expected<void> check_trusted(const fs::path& path) { return check_components(path, kMaxLinks); }

}  // namespace instr
