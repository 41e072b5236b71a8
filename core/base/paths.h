// Paths and names of files, and paths with wildcards, as a shell expands them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace instr {

// Returns the path relative to the folder, if it is below it ("." for the folder itself).
inline std::optional<std::filesystem::path> place_below(const std::filesystem::path& path,
                                                        const std::filesystem::path& folder) {
  const std::filesystem::path place = path.lexically_relative(folder);
  if (place.empty() || *place.begin() == "..") return std::nullopt;
  return place;
}

// Returns the path relative to `root`, if it is below it, else the path itself.
inline std::filesystem::path place_in(const std::filesystem::path& root,
                                      const std::filesystem::path& path) {
  return place_below(path.lexically_normal(), root).value_or(path);
}

// Names of files and folders that are made for a text, such as the key of a variant.

// Returns the text if possible, else something similar; never the same for two texts.
std::string make_file_name(const std::string& text);

// Returns true if the path contains `*`.
bool has_wildcard(const std::filesystem::path& path);

// Returns the regular files that an absolute path with wildcards matches, sorted. `*` matches a
// part of a name, `**` any number of folders, except hidden ones; links to folders are followed
// only where the path names them.
std::vector<std::filesystem::path> find_matches(const std::filesystem::path& pattern);

}  // namespace instr
