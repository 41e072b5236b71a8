// --flame=DIR: of a count, its flame graph as a page and as folded stacks; of a comparison, a page
// of changes for each benchmark, and an index.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/profile/call_tree.h"
#include "core/results/result_set.h"

namespace instr {

// Makes the folder before anything is measured.
Expected<void> prepare_flame_folder(const std::optional<std::filesystem::path>& folder);

// Writes KEY.html and KEY.folded into the folder, and prints the place of the page to standard
// error.
Expected<void> write_flame(const std::filesystem::path& folder, const std::string& key,
                           const CallTree& tree);

// Makes the folder, before anything is measured. Fails if it cannot be written, or if given results
// have counts but no call paths.
Expected<void> prepare_flames(const std::optional<std::filesystem::path>& folder,
                              const std::vector<const ResultSet*>& results);

// Writes the pages of benchmarks whose instructions changed, and prints their place to standard
// error.
Expected<void> write_flames(const std::filesystem::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after);

}  // namespace instr
