// Replaces a file in one step: at each moment there is either the old one or the new one.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/error.h"
#include "core/base/process.h"

namespace instr {

// The file that a symbolic link leads to, so that the link stays one.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Writes `text` to a new file beside `path` and renames it over `path`; the permissions stay. The
// file is left open for appending. `path` is no symbolic link.
Expected<Fd> replace_file(const std::filesystem::path& path, std::string_view text);

// All of `text`; the number of bytes that were written and errno (0: all well).
struct Written {
  std::size_t bytes = 0;
  int error = 0;
};
Written write_all(int descriptor, std::string_view text);

// That `path` could not be written, with the meaning of errno.
Error write_error(const std::filesystem::path& path, int number);

}  // namespace instr
