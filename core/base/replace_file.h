// Replaces a file in one step: at any moment its content is either the old or the new one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace instr
