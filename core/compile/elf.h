// Reads the build id of shared objects, and names in them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

// Returns the GNU build id of a 64-bit ELF file, hexadecimal; nothing if the id is missing or the
// file is not ELF. Reads only headers and notes.
std::optional<std::string> read_build_id(const std::filesystem::path& file);

// Returns true if the file contains `text`. Reads the whole file: meant for small libraries.
bool file_contains(const std::filesystem::path& file, std::string_view text);

// Returns the names of the functions and variables that a 64-bit shared object defines for others,
// sorted; nothing if it cannot be read.
std::optional<std::vector<std::string>> read_exports(const std::filesystem::path& file);

}  // namespace instr
