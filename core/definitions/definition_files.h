// Finds the definition files in a list of files and folders.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/error.h"

namespace instr {

// A file stands for itself; a folder for all *.toml below it, sorted by path; names that begin with
// a dot are skipped. Paths begin as the caller's do (relative stays relative). Unreadable paths,
// and folders without a definition file, are added to `errors`.
std::vector<std::filesystem::path> find_definition_files(
    const std::vector<std::filesystem::path>& paths, Errors& errors);

}  // namespace instr
