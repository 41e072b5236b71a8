#include "core/base/append_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/base/replace_file.h"

namespace instr {

AppendFile::AppendFile(Fd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {
  struct stat status {};
  is_regular_ = fstat(fd_.get(), &status) == 0 && S_ISREG(status.st_mode);
  size_ = status.st_size;
}

Expected<void> AppendFile::append(const std::string& piece) {
  kept_ += piece;
  if (!piece.empty()) ++kept_count_;
  off_t start = is_regular_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
  const Written written = write_all(fd_.get(), kept_);
  if (written.error != 0) return withdraw(start, written.bytes, written.error);
  size_ += static_cast<off_t>(written.bytes);
  kept_.clear();
  kept_count_ = 0;
  return {};
}

// Removes a partially written piece again, so that the file holds whole lines only.
Expected<void> AppendFile::withdraw(off_t start, std::size_t written, int number) {
  bool taken_back = start >= 0 && ftruncate(fd_.get(), start) == 0;
  if (!taken_back) {
    size_ += static_cast<off_t>(written);
    kept_.erase(0, written);
  }
  return fail(write_error(path_, number));
}

Expected<void> AppendFile::check() const {
  struct stat own {};
  struct stat named {};
  if (!is_regular_ || fstat(fd_.get(), &own) != 0) return {};
  const bool is_named = ::stat(path_.c_str(), &named) == 0 && named.st_ino == own.st_ino &&
                        named.st_dev == own.st_dev;
  if (is_named && own.st_size == size_) return {};
  const std::string what =
      is_named ? fmt::format("the file has {} bytes instead of {}", own.st_size, size_)
               : "the file was removed or replaced";
  return fail(
      fmt::format("{}: {}: another program changed it during the run", path_.string(), what),
      "measure again, with a file that nothing else writes to");
}

}  // namespace instr
