// A file that grows by whole pieces: lines, members of an archive.
#pragma once

#include <sys/types.h>

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

}  // namespace instr
