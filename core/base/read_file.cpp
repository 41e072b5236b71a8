#include "core/base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/process.h"
#include "core/base/program_end.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

// Deeper values would overflow the stack when they are copied or printed.
constexpr int kMaxDepth = 100;

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes read at a time

tl::unexpected<Error> fail_to_read(const fs::path& path, int error) {
  return fail_at(
      {path.string()}, std::string("cannot be read: ") + std::strerror(error),
      error == ENOENT || error == ENOTDIR ? "check the path" : "check the file's permissions");
}

tl::unexpected<Error> fail_as_too_large(const fs::path& path, std::size_t max) {
  return fail_at(path, fmt::format("is larger than {} MiB", max >> 20), "name another file");
}

struct Extent {
  std::size_t max;       // bytes
  std::size_t expected;  // bytes
  bool is_pipe;
};

Expected<std::string> read_to_end(int fd, const fs::path& path, const Extent& extent) {
  std::string bytes;
  bytes.reserve(extent.expected + kPiece);
  for (;;) {
    if (extent.is_pipe && !wait_for_input(fd)) return fail_at(path, "interrupted while reading");
    const std::size_t end = bytes.size();
    bytes.resize(end + kPiece);
    const ssize_t count = ::read(fd, bytes.data() + end, kPiece);
    const int error = errno;
    bytes.resize(end + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && (error == EINTR || error == EAGAIN)) continue;
    if (count < 0) return fail_to_read(path, error);
    if (count == 0) return bytes;
    if (bytes.size() > extent.max) return fail_as_too_large(path, extent.max);
  }
}

}  // namespace

Expected<Json> parse_json(std::string_view text) {
  bool is_too_deep = false;
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    is_too_deep = is_too_deep || depth > kMaxDepth;
    return !is_too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), check_depth, false);
  if (is_too_deep) {
    return fail("a value in this line is nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  if (json.is_discarded()) return fail("this line is not JSON");
  return json;
}

Expected<std::string> read_file(const fs::path& path, std::size_t max, ReadFrom from) {
  // O_NONBLOCK: opening a pipe without a writer must not hang. O_NOCTTY: a terminal is refused
  // below, and must not become that of this process.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_to_read(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_to_read(path, errno);
  const bool is_pipe = S_ISFIFO(info.st_mode) && from == ReadFrom::kFilesAndPipes;
  if (!S_ISREG(info.st_mode) && !is_pipe) {
    return fail_at(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file",
                   "name a file here");
  }
  const auto size = static_cast<std::size_t>(S_ISREG(info.st_mode) ? info.st_size : 0);
  if (size > max) return fail_as_too_large(path, max);
  return read_to_end(fd.get(), path, {max, size, is_pipe});
}

Expected<std::string> read_standard_input(std::size_t max) {
  static const auto text = read_to_end(STDIN_FILENO, kStandardInput, {max, 0, /*is_pipe=*/true});
  return text;
}

}  // namespace instr
