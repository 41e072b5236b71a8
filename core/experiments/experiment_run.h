// Runs the experiments that a results file, and what was run one by one beside it, lack.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/experiments/experiment_record.h"
#include "core/run/config.h"
#include "core/run/progress.h"

namespace instr {

// The records in the file, old and new.
struct Ran {
  std::vector<ExperimentRecord> records;
  std::size_t were_there = 0;  // the first ones
  double seconds = 0;          // taken by the others, with compiling
  std::size_t unwritten = 0;   // not in the file
};

struct ExperimentRun {
  MeasureConfig measure;
  std::filesystem::path results;
  // The key of the one that is run; its result goes into a file of its own, which later runs of all
  // take in.
  std::optional<std::string> only;
  bool collects_counters = false;  // of torch.compile(), all
  ProgressOptions progress;
};

// Of `all`, or of them only the one that is named.
Expected<Ran> measure_experiments(const ExperimentRun& run, const std::vector<Variant>& all,
                                  std::stop_token stop);

}  // namespace instr
