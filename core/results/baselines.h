// Named baselines: results files in a folder of the project, plain, so that a team can commit one or
// keep it in a CI cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace instr {

// INSTR_BENCH_BASELINES where it is set; else `.instr_bench/baselines` in the nearest folder, from
// the working directory up, that has a `.instr_bench` or is the top of a git work tree; else in the
// working directory.
std::filesystem::path baselines_folder();

// Where the baseline of that name is, whether or not it is there yet. An error where it can be no
// name: letters, digits, `.`, `_` and `-`, the first a letter or a digit.
Expected<std::filesystem::path> baseline_path(const std::string& name);

// The file of a baseline given as a name or a path. An error where there is none; its advice names
// the near ones.
Expected<std::filesystem::path> find_baseline(const std::string& name_or_file);

// Sorted.
std::vector<std::string> baseline_names();

// Where a run that is to become the baseline `name` keeps its results until it is whole.
Expected<std::filesystem::path> start_baseline(const std::string& name);

// Makes the results in `file`, with their functions, the baseline `name`. Where `file` is the one of
// start_baseline() it is moved, else copied. The old baseline is there until the new one is whole.
Expected<std::filesystem::path> finish_baseline(const std::string& name,
                                                const std::filesystem::path& file);

Expected<void> remove_baseline(const std::string& name);

}  // namespace instr
