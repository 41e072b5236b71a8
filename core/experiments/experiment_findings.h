// What a person should look at among experiments: what became slower, compiles long, takes more
// memory or is wrong. And a line for each experiment. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/experiments/experiment_record.h"
#include "core/report/report_grid.h"

namespace instr {

// Beyond these, an experiment is listed.
inline constexpr double kMinSpeedup = 0.95;
inline constexpr double kMaxCompileTime = 120;   // seconds
inline constexpr double kMinMemoryRatio = 0.9;   // eager's peak over its own
inline constexpr std::size_t kMaxFindings = 20;  // of a kind; of more, the worst and their number

struct Findings {
  std::string title;  // "slower than 0.95x"
  Grid grid;          // a row for each, the worst first
};

// Those kinds of which there is any.
std::vector<Findings> findings_among(const std::vector<ExperimentRecord>& records);

// A row for each experiment but eager's: its time, the speed-up with its interval and p-value, ...
Grid each_experiment_grid(const std::vector<ExperimentRecord>& records);

}  // namespace instr
