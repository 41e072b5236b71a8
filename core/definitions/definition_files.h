// Finds the definition files in a list of files and folders.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/error.h"

namespace instr {

// Returns the files, and all *.toml below the folders, sorted by path; names that begin with a dot
// are skipped. Relative paths stay relative. Adds unreadable paths and folders without a definition
// file to `errors`.
std::vector<std::filesystem::path> find_definition_files(
    const std::vector<std::filesystem::path>& paths, Errors& errors);

}  // namespace instr
