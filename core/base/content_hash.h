// Hashes of contents, which name the artefacts of the cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace instr {

// Returns the 128-bit hash of these bytes, in hexadecimal.
std::string content_hash(std::string_view bytes);

// Returns the hash of a file's content; nothing if the file cannot be read.
std::optional<std::string> file_hash(const std::filesystem::path& file);

}  // namespace instr
