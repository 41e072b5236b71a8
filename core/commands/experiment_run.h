// Runs the experiments that a results file lacks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/cli/showing.h"
#include "core/engine/config.h"
#include "core/results/experiment.h"

namespace instr {

// The records in the file, old and new.
struct Ran {
  std::vector<ExperimentRecord> records;
  std::size_t were_there = 0;  // the first ones
  double seconds = 0;          // taken by the others, with compiling
  std::size_t unwritten = 0;   // not in the file
};

Expected<Ran> measure_experiments(const MeasureConfig& config, const std::filesystem::path& file,
                                  const std::vector<Variant>& variants, const Showing& showing,
                                  std::stop_token stop);

}  // namespace instr
