#include "core/base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr mode_t kMode = 0666;  // less the umask

Fd open_file(const fs::path& path, int flags) {
  return Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND | flags, kMode));
}

void keep_permissions(const fs::path& from, const Fd& to) {
  struct stat status {};
  if (::stat(from.c_str(), &status) != 0) return;
  // What may be forbidden here (a file of another owner) costs only the permissions.
  [[maybe_unused]] const int ignored = ::fchmod(to.get(), status.st_mode & 07777);
}

}  // namespace

fs::path follow_links(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

Written write_all(int descriptor, std::string_view text) {
  Written written;
  while (written.bytes < text.size()) {
    const ssize_t count =
        ::write(descriptor, text.data() + written.bytes, text.size() - written.bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      written.error = count < 0 ? errno : EIO;
      return written;
    }
    written.bytes += static_cast<std::size_t>(count);
  }
  return written;
}

Error write_error(const fs::path& path, int number) {
  std::string advice;
  if (number == ENOSPC || number == EDQUOT) advice = "free some space, or name another file";
  if (number == EACCES || number == EROFS || number == ENOENT || number == EISDIR) {
    advice = "name a file in a folder that exists and that you may write to";
  }
  return {{path.string()}, "cannot write: " + std::string(std::strerror(number)), advice};
}

Expected<Fd> replace_file(const fs::path& path, std::string_view text) {
  fs::path temporary = path;
  temporary += ".new" + std::to_string(::getpid());
  // A killed process of this number may have left one, which in a container may be each time's.
  ::unlink(temporary.c_str());
  Fd fd = open_file(temporary, O_CREAT | O_EXCL);
  if (fd) {
    keep_permissions(path, fd);
  } else if (errno == EACCES || errno == EROFS) {
    // A file that one may write in a folder that one may not: emptied and written in place.
    fd = open_file(path, O_TRUNC);
    temporary.clear();
  }
  if (!fd) return tl::unexpected(write_error(path, errno));
  const Written written = write_all(fd.get(), text);
  std::error_code error(written.error, std::generic_category());
  if (!error && !temporary.empty()) fs::rename(temporary, path, error);
  if (!error) return fd;
  std::error_code ignored;
  if (!temporary.empty()) fs::remove(temporary, ignored);
  return tl::unexpected(write_error(path, error.value()));
}

}  // namespace instr
