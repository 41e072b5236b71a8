#include "core/base/append_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/base/replace_file.h"

namespace instr {

AppendFile::AppendFile(Fd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {
  struct stat status {};
  is_regular_ = fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode);
}

Expected<void> AppendFile::append(const std::string& piece) {
  kept_ += piece;
  if (!piece.empty()) ++kept_count_;
  off_t start = is_regular_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
  const Written written = write_all(fd_.get(), kept_);
  if (written.error != 0) return withdraw(start, written.bytes, written.error);
  kept_.clear();
  kept_count_ = 0;
  return {};
}

// Removes a partially written piece again, so that the file holds whole lines only.
Expected<void> AppendFile::withdraw(off_t start, std::size_t written, int number) {
  bool taken_back = start >= 0 && ftruncate(fd_.get(), start) == 0;
  if (!taken_back) kept_.erase(0, written);
  return fail(write_error(path_, number));
}

}  // namespace instr
