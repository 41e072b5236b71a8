// Runs the experiments that a results file lacks.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/results/measurement.h"
#include "core/run/left_out.h"
#include "core/run/pipeline.h"
#include "core/run/progress.h"

namespace instr {

// The measurements of these variants in the file, old and new.
struct ExperimentRunResult {
  std::vector<Measurement> measurements = {};
  std::set<std::string> were_there = {};  // keys of the old ones
  ResultsHeader header = {};
  double seconds = 0;  // time for the new ones, with compiling
  bool could_write = true;
};

struct ExperimentRun {
  RunConfig run;
  fs::path results;
  // The key of the only experiment to run. Its result goes to a file of its own, which later runs
  // take in.
  std::optional<std::string> only;
  ProgressOptions progress;
  // Called before measuring, with the results that are used again. Its error ends the run.
  std::function<Expected<void>(const ResultsHeader&, const std::vector<Measurement>& earlier)>
      on_start = {};
  // Makes the text for standard output that each result completes.
  std::function<std::string(const Measurement&)> rows = {};
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

}  // namespace instr
