// The one place that reads files which others made: results, functions, definitions, limits. What
// is too large, a folder or a device is refused before it fills the memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace instr {

// Bytes, far beyond what is ever written.
inline constexpr std::size_t kMostText = std::size_t{64} << 20;      // what people write
inline constexpr std::size_t kMostResults = std::size_t{256} << 20;  // what programs write

enum class ReadFrom { kFiles, kFilesAndPipes };

// All bytes of a regular file or, if that is asked for, of a pipe, such as a shell's `<(...)`:
// its end is waited for, and an interruption is an error. Errors have the file as their place.
Expected<std::string> read_file(const std::filesystem::path& path, std::size_t most,
                                ReadFrom from = ReadFrom::kFiles);

}  // namespace instr
