#include "core/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "core/base/private_folder.h"
#include "core/base/replace_file.h"

namespace instr {

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
