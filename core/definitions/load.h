// Reads definition files: TOML to Definitions, every error of every file at its place.
#pragma once

#include <filesystem>
#include <vector>

#include "core/definitions/declarations.h"
#include "core/definitions/grouped_benchmark.h"

namespace instr {

struct Definitions {
  std::vector<GroupedBenchmark> benchmarks;
  Declarations declarations;
};

// Loads files, and all *.toml below folders. Benchmarks are in the order of the paths (a folder's
// files sorted), then in the order written; a file that is named twice is loaded once. A file that
// is only included contributes its setups, its `global_setup`, its backends and its settings, not
// its benchmarks. Errors are sorted by file and place.
tl::expected<Definitions, Errors> load_definitions(const std::vector<std::filesystem::path>& paths);

// Reads the [build] table of a TOML file and ignores the rest. An error if the table is missing.
tl::expected<std::shared_ptr<const BuildOptions>, Errors> load_build(
    const std::filesystem::path& file);

}  // namespace instr
