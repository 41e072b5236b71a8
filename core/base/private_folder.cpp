#include "core/base/private_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "instr_bench.run.";
// Among a user's files: whoever looks for definitions there leaves it out.
constexpr const char* kHiddenPrefix = ".instr_bench.run.";
// Younger ones may just not have been locked yet.
constexpr std::time_t kOldEnough = 60;  // seconds

Fd open_and_lock(const fs::path& folder, bool wait) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && ::flock(fd.get(), wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

bool is_left_behind(const Fd& locked) {
  struct stat info {};
  return locked && ::fstat(locked.get(), &info) == 0 && info.st_uid == ::geteuid() &&
         info.st_mtime + kOldEnough < std::time(nullptr);
}

void remove_left_behind(const fs::path& parent, const char* prefix) {
  std::error_code problem;
  for (fs::directory_iterator entry(parent, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    std::error_code ignored;
    if (is_left_behind(open_and_lock(entry->path(), false))) fs::remove_all(entry->path(), ignored);
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
        "make room there, or set TMPDIR to a folder that can be written"};
  });
}

tl::expected<PrivateFolder, int> PrivateFolder::make_in(const fs::path& parent) {
  return make_named(parent, kHiddenPrefix);
}

tl::expected<PrivateFolder, int> PrivateFolder::make_named(const fs::path& parent,
                                                           const char* prefix) {
  remove_left_behind(parent, prefix);
  std::string pattern = (parent / prefix).string() + "XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return tl::unexpected(errno);
  return PrivateFolder(pattern, open_and_lock(pattern, true));
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
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace instr
