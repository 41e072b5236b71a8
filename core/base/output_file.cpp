#include "core/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/private_folder.h"

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

AppendFile::AppendFile(Fd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {
  struct stat status {};
  is_regular_ = fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode);
  size_ = status.st_size;
}

Expected<void> AppendFile::append(const std::string& piece) {
  kept_ += piece;
  if (!piece.empty()) ++kept_count_;
  off_t start = is_regular_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
  const Written written = write_all(fd_.get(), kept_);
  if (written.error != 0) return withdraw(start, written.bytes, written.error);
  size_ += static_cast<off_t>(written.bytes);
  kept_.clear();
  kept_count_ = 0;
  return {};
}

// Removes a partially written piece again, so that the file holds whole lines only.
Expected<void> AppendFile::withdraw(off_t start, std::size_t written, int number) {
  bool taken_back = start >= 0 && ftruncate(fd_.get(), start) == 0;
  if (!taken_back) {
    size_ += static_cast<off_t>(written);
    kept_.erase(0, written);
  }
  return fail(write_error(path_, number));
}

Expected<void> AppendFile::check() const {
  struct stat own {};
  struct stat named {};
  if (!is_regular_ || fstat(fd_.get(), &own) != 0) return {};
  const bool is_named = ::stat(path_.c_str(), &named) == 0 && named.st_ino == own.st_ino &&
                        named.st_dev == own.st_dev;
  if (is_named && own.st_size == size_) return {};
  const std::string what =
      is_named ? fmt::format("the file has {} bytes instead of {}", own.st_size, size_)
               : "the file was removed or replaced";
  return fail(
      fmt::format("{}: {}: another program changed it during the run", path_.string(), what),
      "measure again, with a file that nothing else writes to");
}

namespace {

// Bytes read to recognise a file: a results file's first line may be long.
constexpr std::size_t kStart = std::size_t{4} << 20;

// Finds the number of the descriptor of this process that the path names, such as /dev/stdout. A
// file opened again by such a path would be overwritten from its start.
std::optional<int> find_descriptor(const fs::path& path) {
  std::error_code error;
  fs::path own = "/proc/" + std::to_string(::getpid()) + "/fd";
  fs::path name = path;
  if (name == "/dev/stdout") name = "/proc/self/fd/1";
  if (name == "/dev/stderr") name = "/proc/self/fd/2";
  const std::string number = name.filename().string();
  const bool is_number =
      !number.empty() && number.size() < 8 &&
      std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!is_number || fs::canonical(name.parent_path(), error) != own) return std::nullopt;
  return std::stoi(number);
}

Expected<Fd> open_stream(const fs::path& path, bool is_pipe) {
  // Non-blocking: open() would wait for a reader.
  Fd fd(::open(path.c_str(),
               O_WRONLY | O_CLOEXEC | O_APPEND | O_NOCTTY | (is_pipe ? O_NONBLOCK : 0)));
  if (!fd && errno == ENXIO) {
    return fail_at(path, "cannot write: this pipe has no reader", "start its reader first");
  }
  if (!fd) return fail(write_error(path, errno));
  if (is_pipe) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

Expected<void> check_content(const fs::path& path, const Fd& fd, const FileKind& kind) {
  std::string start(kStart, '\0');
  std::size_t filled = 0;
  while (filled < start.size()) {
    const ssize_t got =
        ::pread(fd.get(), start.data() + filled, start.size() - filled, static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  start.resize(filled);
  if (start.empty() || kind.has_prefix(start)) return {};
  return fail_at(path, std::string("does not hold ") + kind.name,
                 "name another file, or remove this one");
}

// Checks that the folder is writable, or the existing file in a folder that is not.
Expected<void> check_writable(const fs::path& path, bool is_there) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto tried = PrivateFolder::make_in(folder);
  if (tried) return {};
  const bool is_in_place = is_there && (tried.error() == EACCES || tried.error() == EROFS);
  if (is_in_place && ::access(path.c_str(), W_OK) == 0) return {};
  std::error_code ignored;
  if (tried.error() == ENOENT && !fs::exists(folder, ignored)) {
    return fail_at(folder, "there is no such folder",
                   "make it first, or name a file in another one");
  }
  return fail(write_error(path, tried.error()));
}

}  // namespace

Expected<OutputFile> OutputFile::open(const fs::path& given, const FileKind& kind) {
  if (const auto number = find_descriptor(given)) {
    Fd fd(::fcntl(*number, F_DUPFD_CLOEXEC, 3));
    if (!fd || (::fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) {
      return fail(write_error(given, EBADF));
    }
    return OutputFile(given, std::move(fd));
  }
  const fs::path path = follow_links(given);
  struct stat info {};
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  if (!is_there && errno != ENOENT) return fail(write_error(given, errno));
  if (is_there && S_ISDIR(info.st_mode)) return fail(write_error(given, EISDIR));
  if (is_there && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) {
    return open_stream(path, S_ISFIFO(info.st_mode)).map([&path](Fd&& fd) {
      return OutputFile(path, std::move(fd));
    });
  }
  if (is_there && !S_ISREG(info.st_mode)) {
    return fail_at(given, "is a disk or a socket", "name a file");
  }
  TRY(check_writable(path, is_there));
  if (is_there) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return fail(write_error(given, errno));
    TRY(check_content(given, fd, kind));
  }
  return OutputFile(path, Fd());
}

Expected<void> write_to(OutputFile file, std::string_view text) {
  if (file.is_regular()) return replace_file(file.path(), text).map([](const Fd&) {});
  const Written written = write_all(file.take_stream().get(), text);
  if (written.error != 0) return fail(write_error(file.path(), written.error));
  return {};
}

Expected<void> make_output_folder(const fs::path& folder, const char* advice) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail_at(folder, "cannot make this folder: " + error.message(), advice);
  }
  const auto tried = PrivateFolder::make_in(folder);
  if (tried) return {};
  return fail_at(
      folder, std::string("cannot write to this folder: ") + std::strerror(tried.error()), advice);
}

}  // namespace instr
