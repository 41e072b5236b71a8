// Named baselines: results files in a folder of the project, so that a team can commit them or keep
// them in a CI cache.
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

// The folder `.instr_bench` in the nearest folder, from the working directory up, that contains it
// or `.git`; else in the working directory.
fs::path project_folder();

// INSTR_BENCH_BASELINES if it is set; else `baselines` in project_folder().
fs::path baselines_folder();

// Returns the path of the baseline with that name, whether or not it exists. An error if the name
// is invalid: it has letters, digits, `.`, `_` and `-`, and begins with a letter or a digit.
Expected<fs::path> baseline_path(const std::string& name);

// Finds the file of a baseline given as a name or a path. The advice of the error suggests near
// names.
Expected<fs::path> find_baseline(const std::string& name_or_file);

// The names of all baselines, sorted.
std::vector<std::string> baseline_names();

// An unfinished baseline in a private folder beside the baselines: concurrent runs that save the
// same name have separate folders, and the last published baseline stays.
class BaselineDraft {
 public:
  // Makes the folders of the baselines and of the draft.
  static Expected<BaselineDraft> start(const std::string& name);

  // The file for the run's results, unless they are kept elsewhere.
  fs::path file() const { return folder_.path() / "results.jsonl"; }

  // Makes the results in `file`, with their profiles, the baseline: moves file(), or copies
  // any other file. The old baseline stays until the new one is complete.
  Expected<fs::path> publish(const fs::path& file) const;

  // Keeps an interrupted run's file() beside the baselines, and returns its new path.
  Expected<fs::path> keep() const;

 private:
  BaselineDraft(fs::path baseline, PrivateFolder folder)
      : baseline_(std::move(baseline)), folder_(std::move(folder)) {}

  fs::path baseline_;
  PrivateFolder folder_;
};

// Locks the baselines, so that none is replaced while its results and functions are read. Nothing
// if `file` is not a baseline.
std::optional<FileLock> hold_baselines(const fs::path& file);

Expected<void> remove_baseline(const std::string& name);

}  // namespace instr
