// Reads definition files: TOML to Definitions, every error of every file at its place.
#pragma once

#include <filesystem>
#include <vector>

#include "core/definitions/definition.h"

namespace instr {

// Files, or folders for all *.toml below them. Definitions come in the order of the paths (a
// folder's files sorted), then in the order written; a file that is named twice counts once. A file
// that is only included contributes its setups and its `global_setup`, not its benchmarks. Errors
// are sorted by file and place; nothing else is returned then.
tl::expected<std::vector<Definition>, Errors> load_definitions(
    const std::vector<std::filesystem::path>& paths);

// Reads the [build] table of a TOML file and ignores the rest. An error if there is no such table.
tl::expected<std::shared_ptr<const BuildOptions>, Errors> load_build(
    const std::filesystem::path& file);

}  // namespace instr
