// A file that a command is to write, checked before the command does any work, so that an
// unwritable file, or one that must not be overwritten, is reported first.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

// What a file must hold to be overwritten; an empty one may always be.
struct FileKind {
  const char* name;                           // "results of instr_bench"
  bool (*begins_so)(std::string_view start);  // whether a file with this start is one
};

class OutputFile {
 public:
  // Errors: a folder or a disk; no such folder, or none that may be written to; a pipe that nobody
  // reads; a file that does not hold `kind`.
  static Expected<OutputFile> open(const std::filesystem::path& path, const FileKind& kind);

  // Whether it is, or will be, a regular file, and so to be replaced; else it is open already.
  bool is_regular() const { return !stream_; }

  const std::filesystem::path& path() const { return path_; }  // with symbolic links followed
  Fd take_stream() { return std::move(stream_); }

 private:
  OutputFile(std::filesystem::path path, Fd stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}

  std::filesystem::path path_;
  Fd stream_;
};

// All of `text`: a regular file has either that or what it had before.
Expected<void> write_to(OutputFile file, std::string_view text);

// Makes a folder that a command is to write files to, before the command does any work, unless it
// is there. An error, with `advice`, if it or a file in it cannot be created.
Expected<void> make_output_folder(const std::filesystem::path& folder, const char* advice);

}  // namespace instr
