// Named baselines: plain results files in a folder of the project, so that a team can commit one or
// keep it in a CI cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/file_lock.h"
#include "core/base/private_folder.h"

namespace instr {

// `.instr_bench` in the nearest folder, from the working directory up, that has one or is the top
// of a git work tree; else in the working directory.
std::filesystem::path project_folder();

// INSTR_BENCH_BASELINES if it is set; else `baselines` in project_folder().
std::filesystem::path baselines_folder();

// The path of the baseline of that name, whether or not it exists yet. An error if the name is
// invalid: it has letters, digits, `.`, `_` and `-`, the first a letter or a digit.
Expected<std::filesystem::path> baseline_path(const std::string& name);

// The file of a baseline given as a name or a path. An error if there is none; its advice names
// near matches.
Expected<std::filesystem::path> find_baseline(const std::string& name_or_file);

// Sorted.
std::vector<std::string> baseline_names();

// A baseline in the making, in a private folder beside the baselines: two concurrent runs that save
// the same name each have their own, and the last one published stays.
class BaselineDraft {
 public:
  // Makes the folders.
  static Expected<BaselineDraft> start(const std::string& name);

  // The run's results, unless they are kept elsewhere.
  std::filesystem::path file() const { return folder_.path() / "results.jsonl"; }

  // Makes the results in `file`, with their functions, the baseline: moves file(), copies another
  // one. The old baseline stays until the new one is complete.
  Expected<std::filesystem::path> publish(const std::filesystem::path& file) const;

  // Keeps an interrupted run's file() beside the baselines, and returns its new path.
  Expected<std::filesystem::path> keep() const;

 private:
  BaselineDraft(std::filesystem::path baseline, PrivateFolder folder)
      : baseline_(std::move(baseline)), folder_(std::move(folder)) {}

  std::filesystem::path baseline_;
  PrivateFolder folder_;
};

// While it is held, no baseline's results and functions are replaced: both are of one run. Nothing
// if `file` is not a baseline.
std::optional<FileLock> hold_baselines(const std::filesystem::path& file);

Expected<void> remove_baseline(const std::string& name);

}  // namespace instr
