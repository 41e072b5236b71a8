#include "core/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/interrupt.h"
#include "core/base/process.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes read at a time

tl::unexpected<Error> unreadable(const fs::path& path, std::string what, std::string advice) {
  return tl::unexpected(Error{{path.string()}, std::move(what), std::move(advice)});
}

tl::unexpected<Error> cannot_read(const fs::path& path, int error) {
  return unreadable(
      path, std::string("cannot be read: ") + std::strerror(error),
      error == ENOENT || error == ENOTDIR ? "check the path" : "check the file's permissions");
}

tl::unexpected<Error> too_large(const fs::path& path, std::size_t max) {
  return unreadable(path, "is larger than " + std::to_string(max >> 20) + " MiB",
                    "name another file");
}

}  // namespace

Expected<std::string> read_file(const fs::path& path, std::size_t max, ReadFrom from) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang. O_NOCTTY: a terminal is refused
  // below, and must not become ours.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return cannot_read(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return cannot_read(path, errno);
  const bool is_pipe = S_ISFIFO(info.st_mode) && from == ReadFrom::kFilesAndPipes;
  if (!S_ISREG(info.st_mode) && !is_pipe) {
    return unreadable(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file",
                      "name a file here");
  }
  const auto expected = static_cast<std::size_t>(S_ISREG(info.st_mode) ? info.st_size : 0);
  if (expected > max) return too_large(path, max);
  std::string bytes;
  bytes.reserve(expected + kPiece);
  for (;;) {
    if (is_pipe && !wait_for_input(fd.get())) {
      return unreadable(path, "interrupted while reading", "");
    }
    const std::size_t end = bytes.size();
    bytes.resize(end + kPiece);
    const ssize_t got = ::read(fd.get(), bytes.data() + end, kPiece);
    const int error = errno;
    bytes.resize(end + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && (error == EINTR || error == EAGAIN)) continue;
    if (got < 0) return cannot_read(path, error);
    if (got == 0) return bytes;
    if (bytes.size() > max) return too_large(path, max);
  }
}

}  // namespace instr
