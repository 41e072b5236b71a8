// Finds the definition files that a person's list of files and folders stands for.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/error.h"

namespace instr {

// A file stands for itself; a folder for all *.toml below it, sorted by path; names that begin with
// a dot are passed over. Paths begin as the caller's do (relative stays relative). What cannot be
// read, and folders without a definition file, are added to `errors`.
std::vector<std::filesystem::path> find_definition_files(
    const std::vector<std::filesystem::path>& paths, Errors& errors);

}  // namespace instr
