// Files that are written: replaced in one step, extended by whole pieces, or checked before a
// command does any work.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

// Returns the file that a symbolic link leads to, whether or not it exists; to replace that file
// keeps the link.
fs::path follow_links(const fs::path& path);

// A file's replacement: written beside it, under a unique name, and then moved into place by put().
// Until then, and if that fails, the file is unchanged.
class Replacement {
 public:
  // `path` is not a symbolic link. The permissions of an existing file stay.
  static Expected<Replacement> write(const fs::path& path, std::string_view text);

  // Moves it into place; returns the file, open for appending.
  Expected<Fd> put();

 private:
  explicit Replacement(fs::path path) : path_(std::move(path)) {}
  fs::path written() const { return folder_->path() / path_.filename(); }

  fs::path path_;
  Fd fd_;
  std::optional<PrivateFolder> folder_;  // nothing if only the file is writable
  std::string text_;                     // the text to write in place if only the file is writable
};

// Writes the replacement and puts it in place.
Expected<Fd> replace_file(const fs::path& path, std::string_view text);

// Writes all of `text`; returns the number of bytes written, and errno (0 on success).
struct Written {
  std::size_t bytes = 0;
  int error = 0;
};
Written write_all(int descriptor, std::string_view text);

// Makes the error that `path` could not be written, for the errno `number`.
Error write_error(const fs::path& path, int number);

// A file that grows by whole pieces: lines, members of an archive.

class AppendFile {
 public:
  AppendFile() = default;
  // `fd` is open for writing; `path` is for messages.
  AppendFile(Fd fd, fs::path path);

  bool is_regular() const { return is_regular_; }
  // The number of pieces that could not be written yet.
  std::size_t kept() const { return kept_count_; }

  // Writes the kept pieces and then `piece`; what could not be written is kept for the next call.
  Expected<void> append(const std::string& piece);

  // An error if the file has another size than written, or another one has its name: another
  // program has truncated, extended, removed or replaced it.
  Expected<void> check() const;

 private:
  Expected<void> withdraw(off_t start, std::size_t written, int number);

  Fd fd_;
  fs::path path_;
  bool is_regular_ = false;
  off_t size_ = 0;  // bytes of the file, if nothing else writes to it
  std::string kept_;
  std::size_t kept_count_ = 0;
};

// A file that a command is to write. It is checked before the command does any work, so that a file
// that is not writable or must not be overwritten is reported first.

// The content that a file must have to be overwritten; an empty file may always be.
struct FileKind {
  const char* name;                            // "results of instr_bench"
  bool (*has_prefix)(std::string_view start);  // true for the start of such a file
};

class OutputFile {
 public:
  // Errors: a folder or a disk; a folder that does not exist or is not writable; a pipe without a
  // reader; a file that does not hold `kind`.
  static Expected<OutputFile> open(const fs::path& path, const FileKind& kind);

  // True if it is, or will be, a regular file, to be replaced; any other file is open already.
  bool is_regular() const { return !stream_; }

  const fs::path& path() const { return path_; }  // the path, with symbolic links followed
  Fd take_stream() { return std::move(stream_); }

 private:
  OutputFile(fs::path path, Fd stream) : path_(std::move(path)), stream_(std::move(stream)) {}

  fs::path path_;
  Fd stream_;
};

// Writes all of `text`; a regular file is replaced in one step.
Expected<void> write_to(OutputFile file, std::string_view text);

// Makes sure, before a command does any work, that the folder for its files exists and is writable.
// The error has `advice`.
Expected<void> make_output_folder(const fs::path& folder, const char* advice);

}  // namespace instr
