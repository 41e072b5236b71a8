// The summary of experiments by backend. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/report/report_grid.h"
#include "core/results/experiment.h"

namespace instr {

struct ExperimentSummary {
  std::string accelerator;
  Runtime backend = Runtime::kEager;
  std::size_t requested = 0;  // experiments that were not skipped
  std::size_t measured = 0;   // of these
  std::size_t passed = 0;     // of these measured and verified as PASS
  // Geometric means over those that passed: how much faster than eager per iteration, and how
  // many times less memory its tensors take.
  std::optional<double> speedup;
  std::optional<double> memory_ratio;
  std::optional<double> compile_time;             // mean of those that passed, seconds
  std::map<VerificationCode, std::size_t> codes;  // of those that did not pass; eager has none
};

// By accelerator and backend, in the order of kRuntimes.
std::vector<ExperimentSummary> summarize_experiments(const std::vector<ExperimentRecord>& records);

// A row for each, to be printed as a table or as Markdown.
Grid experiment_grid(const std::vector<ExperimentSummary>& summaries);

// "12 experiments: 10 measured, 1 failed, 1 skipped"
std::string experiment_line(const std::vector<ExperimentRecord>& records);

// Seconds in the runs that were timed.
double timed_seconds(std::span<const ExperimentRecord> records);

}  // namespace instr
