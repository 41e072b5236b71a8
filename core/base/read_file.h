// Reads files that users give: results, functions, definitions, limits. A file that is too large, a
// folder or a device is refused before it fills the memory. Parses JSON of untrusted files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

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

// The name of standard input in places.
inline constexpr const char* kStandardInput = "<stdin>";

// Reads standard input to its end, once: later calls return the same.
Expected<std::string> read_standard_input(std::size_t max);

// Parses one value, such as a line of a JSON Lines file. An error, without place or advice, if the
// text is not JSON, or is nested so deep that copying it would overflow the stack.
Expected<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace instr
