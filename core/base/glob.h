// Paths with wildcards, as a shell expands them.
#pragma once

#include <filesystem>
#include <vector>

namespace instr {

// Returns true if the path contains `*`.
bool has_wildcard(const std::filesystem::path& path);

// Returns the regular files that an absolute path with wildcards matches, sorted. `*` matches a
// part of a name, `**` any number of folders, except hidden ones; links to folders are followed
// only where the path names them.
std::vector<std::filesystem::path> find_matches(const std::filesystem::path& pattern);

}  // namespace instr
