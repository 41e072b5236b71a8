// A file that grows by whole pieces: lines, members of an archive.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

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

 private:
  Expected<void> withdraw(off_t start, std::size_t written, int number);

  Fd fd_;
  fs::path path_;
  bool is_regular_ = false;
  std::string kept_;
  std::size_t kept_count_ = 0;
};

}  // namespace instr
