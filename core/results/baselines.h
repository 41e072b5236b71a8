// Named baselines: results files in a folder of the project, plain, so that a team can commit one
// or keep it in a CI cache.
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

// INSTR_BENCH_BASELINES if it is set; else `.instr_bench/baselines` in the nearest folder, from
// the working directory up, that has a `.instr_bench` or is the top of a git work tree; else in the
// working directory.
std::filesystem::path baselines_folder();

// Where the baseline of that name is, whether or not it is there yet. An error if it can be no
// name: letters, digits, `.`, `_` and `-`, the first a letter or a digit.
Expected<std::filesystem::path> baseline_path(const std::string& name);

// The file of a baseline given as a name or a path. An error if there is none; its advice names
// the near ones.
Expected<std::filesystem::path> find_baseline(const std::string& name_or_file);

// Sorted.
std::vector<std::string> baseline_names();

// A baseline in the making, in a private folder beside the baselines: two runs that save the same
// name at once each have their own, and the last one to publish stays.
class BaselineDraft {
 public:
  // Makes the folders.
  static Expected<BaselineDraft> start(const std::string& name);

  // Where the run keeps its results, unless they are kept elsewhere.
  std::filesystem::path file() const { return folder_.path() / "results.jsonl"; }

  // Makes the results in `file`, with their functions, the baseline: moves file(), copies another
  // one. The old baseline is there until the new one is whole.
  Expected<std::filesystem::path> publish(const std::filesystem::path& file) const;

  // Keeps what an interrupted run left in file() beside the baselines, and gives the new place.
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
