// --flame of comparisons: a folder with a page of what changed for each benchmark, and one of
// links.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/compare/compare.h"
#include "core/results/result_set.h"

namespace instr {

// To be called first. An error if the folder cannot be written, or if results that are there
// already have counts but no call paths.
Expected<void> prepare_flames(const std::optional<std::filesystem::path>& folder,
                              const std::vector<const ResultSet*>& results);

// Of the benchmarks whose instructions changed, and says on standard error where they are.
Expected<void> write_flames(const std::filesystem::path& folder, const Comparison& comparison,
                            const ResultSet& before, const ResultSet& after);

}  // namespace instr
