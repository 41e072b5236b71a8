// Reads files that users give: results, functions, definitions, limits. A file that is too large, a
// folder or a device is refused before it fills the memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace instr {

// Limits in bytes, far beyond any real file.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;      // written by people
inline constexpr std::size_t kMaxResultsBytes = std::size_t{256} << 20;  // written by programs

enum class ReadFrom { kFiles, kFilesAndPipes };

// Reads all bytes of a regular file or, if requested, of a pipe such as a shell's `<(...)`, to its
// end; an interruption is an error. Errors have the file as their place.
Expected<std::string> read_file(const fs::path& path, std::size_t max,
                                ReadFrom from = ReadFrom::kFiles);

}  // namespace instr
