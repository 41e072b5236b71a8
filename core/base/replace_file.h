// Replaces a file in one step: at each moment there is either the old one or the new one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

// The file that a symbolic link leads to, there already or not, so that the link stays one.
std::filesystem::path follow_links(const std::filesystem::path& path);

// What is to take a file's place: written beside it, under a name that nobody else has, and then
// put there by put(). Until then, and if that fails, the file is what it was.
class Replacement {
 public:
  // `path` is not a symbolic link. The permissions of what is there stay.
  static Expected<Replacement> write(const std::filesystem::path& path, std::string_view text);

  // The file is left open for appending.
  Expected<Fd> put();

 private:
  explicit Replacement(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path written() const { return folder_->path() / path_.filename(); }

  std::filesystem::path path_;
  Fd fd_;
  std::optional<PrivateFolder> folder_;  // nothing: it may not be written to, but the file may
  std::string text_;                     // to be written in place then
};

// Both at once.
Expected<Fd> replace_file(const std::filesystem::path& path, std::string_view text);

// All of `text`; the number of bytes that were written and errno (0: all is well).
struct Written {
  std::size_t bytes = 0;
  int error = 0;
};
Written write_all(int descriptor, std::string_view text);

// That `path` could not be written, with the meaning of errno.
Error write_error(const std::filesystem::path& path, int number);

}  // namespace instr
