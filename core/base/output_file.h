// A file that a command is to write. It is checked before the command does any work, so that a file
// that is not writable or must not be overwritten is reported first.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

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
