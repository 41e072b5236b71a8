// The experiments that a person should look at: slower than eager, long to compile, large or wrong.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "core/experiments/experiment_record.h"
#include "core/report/document.h"

namespace instr {

// Beyond these, an experiment is listed.
inline constexpr double kMinSpeedup = 0.95;
inline constexpr double kMaxCompileTime = 120;   // seconds
inline constexpr double kMinMemoryRatio = 0.9;   // eager's peak over its own
inline constexpr std::size_t kMaxFindings = 20;  // of a kind; of more, the worst and their number

// A table for each kind of which there is any, the worst first.
std::vector<DocumentTable> find_findings(const std::vector<ExperimentRecord>& records);

// A row for each experiment but eager's: its time, the speed-up with its interval and p-value, ...
DocumentTable each_experiment_table(const std::vector<ExperimentRecord>& records);

}  // namespace instr
