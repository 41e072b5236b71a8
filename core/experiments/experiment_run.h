// Runs the experiments that a results file lacks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/experiments/experiment_record.h"
#include "core/run/config.h"
#include "core/run/left_out.h"
#include "core/run/progress.h"

namespace instr {

// The records in the file, old and new.
struct ExperimentRunResult {
  std::vector<ExperimentRecord> records;
  std::size_t were_there = 0;  // the first records
  double seconds = 0;          // that the other records took, with compiling
  std::size_t unwritten = 0;   // records that are not in the file
  Expected<void> kept;         // an error if the file is not as it was written
};

struct ExperimentRun {
  MeasureConfig measure;
  fs::path results;
  // The key of the only experiment to run. Its result goes to a file of its own, which later runs
  // take in.
  std::optional<std::string> only;
  bool collects_counters = false;  // of torch.compile(), all
  ProgressOptions progress;
};

// Measures the runnable experiments that are missing, or only the one that is named. The file may
// also have results of experiments that are left out here.
Expected<ExperimentRunResult> measure_experiments(const ExperimentRun& run,
                                                  const RunnableVariants& experiments,
                                                  std::stop_token stop);

// Returns the keys of the experiments that measure_experiments() would not run, as far as that is
// known without a worker.
Expected<std::set<std::string>> find_measured(const fs::path& results, const MeasureConfig& config,
                                              const std::vector<Variant>& variants,
                                              std::stop_token stop);

// Returns a line for standard error if gnuplot, which draws the pictures of the folder, is missing.
std::string explain_missing_pictures();

// Writes summary.txt, summary.md and, if there is gnuplot, KIND.svg for each kind of picture. A
// picture that cannot be drawn is reported.
Expected<void> write_experiment_folder(const fs::path& folder,
                                       const std::vector<ExperimentRecord>& records,
                                       std::stop_token stop);

}  // namespace instr
