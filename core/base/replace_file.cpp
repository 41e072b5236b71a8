#include "core/base/replace_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace instr {

namespace {

constexpr mode_t kMode = 0666;  // less the umask

Fd open_file(const fs::path& path, int flags) {
  return Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND | flags, kMode));
}

void keep_permissions(const fs::path& from, const Fd& to) {
  struct stat status {};
  if (::stat(from.c_str(), &status) != 0) return;
  // May fail for a file of another owner, which loses the permissions only.
  [[maybe_unused]] const int ignored = ::fchmod(to.get(), status.st_mode & 07777);
}

}  // namespace

fs::path follow_links(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // the kernel's limit
  std::error_code error;
  fs::path file = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(file, error))) return file;
    const fs::path target = fs::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / target;  // an absolute target replaces the whole path
  }
  return path;
}

Written write_all(int descriptor, std::string_view text) {
  Written written;
  while (written.bytes < text.size()) {
    const ssize_t count =
        ::write(descriptor, text.data() + written.bytes, text.size() - written.bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {  // a pipe or terminal made non-blocking by another program
      pollfd watch{descriptor, POLLOUT, 0};
      ::poll(&watch, 1, -1);
      continue;
    }
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

Expected<Replacement> Replacement::write(const fs::path& path, std::string_view text) {
  Replacement made(path);
  auto folder = PrivateFolder::make_in(path.has_parent_path() ? path.parent_path() : ".");
  if (folder) {
    made.folder_ = std::move(*folder);
    made.fd_ = open_file(made.written(), O_CREAT | O_EXCL);
  } else if (folder.error() == EACCES || folder.error() == EROFS) {
    made.fd_ = open_file(path, 0);
    made.text_ = text;
  } else {
    errno = folder.error();
  }
  if (!made.fd_) return fail(write_error(path, errno));
  if (!made.folder_) return made;
  keep_permissions(path, made.fd_);
  const Written written = write_all(made.fd_.get(), text);
  if (written.error != 0) return fail(write_error(path, written.error));
  return made;
}

Expected<Fd> Replacement::put() {
  std::error_code error;
  if (folder_) {
    fs::rename(written(), path_, error);
  } else {
    int failed = ::ftruncate(fd_.get(), 0) == 0 ? write_all(fd_.get(), text_).error : errno;
    error = {failed, std::generic_category()};
  }
  if (error) return fail(write_error(path_, error.value()));
  return std::move(fd_);
}

Expected<Fd> replace_file(const fs::path& path, std::string_view text) {
  return Replacement::write(path, text).and_then([](Replacement&& made) { return made.put(); });
}

}  // namespace instr
