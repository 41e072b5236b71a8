// --flame of comparisons: a folder with a page of changes for each benchmark, and an index.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/results/result_set.h"

namespace instr {

// Makes the folder, before anything is measured. Fails if it cannot be written, or if given results
// have counts but no call paths.
Expected<void> prepare_flames(const std::optional<std::filesystem::path>& folder,
                              const std::vector<const ResultSet*>& results);

// Writes the pages of benchmarks whose instructions changed, and prints their place to standard
// error.
Expected<void> write_flames(const std::filesystem::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after);

}  // namespace instr
