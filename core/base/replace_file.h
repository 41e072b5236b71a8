// Replaces a file in one step: at any moment there is either the old one or the new one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

// The file that a symbolic link leads to, existing or not, so that the link itself stays.
std::filesystem::path follow_links(const std::filesystem::path& path);

// A file's replacement: written beside it, under a unique name, and then moved into place by put().
// Until then, and if that fails, the file is unchanged.
class Replacement {
 public:
  // `path` is not a symbolic link. The permissions of an existing file stay.
  static Expected<Replacement> write(const std::filesystem::path& path, std::string_view text);

  // The file is left open for appending.
  Expected<Fd> put();

 private:
  explicit Replacement(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path written() const { return folder_->path() / path_.filename(); }

  std::filesystem::path path_;
  Fd fd_;
  std::optional<PrivateFolder> folder_;  // nothing: not writable, but the file is
  std::string text_;                     // then to be written in place
};

// Both at once.
Expected<Fd> replace_file(const std::filesystem::path& path, std::string_view text);

// Writes all of `text`; the number of bytes written, and errno (0 on success).
struct Written {
  std::size_t bytes = 0;
  int error = 0;
};
Written write_all(int descriptor, std::string_view text);

// The error that `path` could not be written, with the meaning of `number`, an errno.
Error write_error(const std::filesystem::path& path, int number);

}  // namespace instr
