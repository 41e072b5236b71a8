// A file that a command is to write: looked at before the command works for what it writes, so that
// what cannot be written, or is not to be overwritten, is said first.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

// What a file may hold that is to be overwritten; an empty one always may be.
struct FileKind {
  const char* name;                           // "results of instr_bench"
  bool (*begins_so)(std::string_view start);  // whether a file that begins so is one
};

class OutputFile {
 public:
  // Errors: a folder or a disk; no such folder, or none that may be written to; a pipe that nobody
  // reads; a file that holds something else than `kind`.
  static Expected<OutputFile> open(const std::filesystem::path& path, const FileKind& kind);

  // Whether it is, or will be, a regular file, and so to be replaced; else it is open already.
  bool is_regular() const { return !stream_; }

  const std::filesystem::path& path() const { return path_; }  // what symbolic links lead to
  Fd take_stream() { return std::move(stream_); }

 private:
  OutputFile(std::filesystem::path path, Fd stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}

  std::filesystem::path path_;
  Fd stream_;
};

}  // namespace instr
