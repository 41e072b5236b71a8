// Reads the build id of shared objects, and the names that they define and need.
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

// A function or variable that a shared object takes from another.
struct Import {
  std::string name;
  std::string version;  // "GLIBC_2.17"; empty: any
  std::string library;  // the soname that has this version, "libc.so.6"; empty if `version` is
};

struct Imports {
  std::vector<std::string> libraries;  // sonames
  std::vector<Import> symbols;
};

// Returns what a 64-bit shared object needs from others; nothing if it cannot be read. Reads only
// the tables that say so, as the file may be large.
std::optional<Imports> read_imports(const std::filesystem::path& file);

}  // namespace instr
