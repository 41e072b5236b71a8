// Reads from shared objects the little that we need: their identity, and names in their string
// tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace instr {

// The GNU build id of a 64-bit ELF file, hexadecimal; nothing if it has none or is not such a file.
// Reads only its headers and notes.
std::optional<std::string> read_build_id(const std::filesystem::path& file);

// Whether the file contains `text`. Reads all of it: meant for small libraries.
bool file_contains(const std::filesystem::path& file, std::string_view text);

}  // namespace instr
