// Reads definition files: TOML to Definitions, every error of every file at its place.
#pragma once

#include <filesystem>
#include <vector>

#include "core/definitions/grouped_benchmark.h"

namespace instr {

// Loads files, and all *.toml below folders. Definitions are in the order of the paths (a folder's
// files sorted), then in the order written; a file that is named twice is loaded once. A file that
// is only included contributes its setups and its `global_setup`, not its benchmarks. Errors are
// sorted by file and place.
tl::expected<std::vector<GroupedBenchmark>, Errors> load_definitions(
    const std::vector<std::filesystem::path>& paths);

// Reads the [build] table of a TOML file and ignores the rest. An error if the table is missing.
tl::expected<std::shared_ptr<const BuildOptions>, Errors> load_build(
    const std::filesystem::path& file);

}  // namespace instr
