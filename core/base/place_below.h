// Finds the place of a file in a folder, by their paths alone: no link is followed.
#pragma once

#include <filesystem>
#include <optional>

namespace instr {

// Returns the path relative to the folder, if it is below it ("." for the folder itself).
inline std::optional<std::filesystem::path> place_below(const std::filesystem::path& path,
                                                        const std::filesystem::path& folder) {
  const std::filesystem::path place = path.lexically_relative(folder);
  if (place.empty() || *place.begin() == "..") return std::nullopt;
  return place;
}

}  // namespace instr
