#include "core/base/trusted_path.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <string>

namespace instr {

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
