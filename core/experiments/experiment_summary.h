// The summary of experiments by suite, axes and backend. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/experiments/experiment_record.h"
#include "core/report/document.h"
#include "core/results/significance.h"

namespace instr {

// An experiment, compared with that of eager.
struct AgainstEager {
  const ExperimentRecord* record = nullptr;
  const ExperimentRecord* eager = nullptr;  // null: not measured
  // Nothing unless both were measured and this one has passed.
  std::optional<Speedup> speedup;
  std::optional<std::string> disturbance;  // why the speed-up cannot be trusted
  std::optional<double> memory_ratio;      // eager's peak over this one's
  std::optional<double> compile_time;      // seconds
  std::optional<double> compile_cpu_time;  // CPU seconds

  bool is_eager() const { return record->variant.backend == Backend::kEager; }
  bool has_passed() const;  // measured, and verified as PASS
};

// Stands before a speed-up that cannot be trusted.
inline constexpr const char* kDisturbed = "~";

// Shows a number of seconds, with a unit; "-" without one.
DocumentCell seconds_cell(const std::optional<double>& seconds);

// Compares experiments with eager, in the order of keys, without skipped ones. The result points
// into `records`.
std::vector<AgainstEager> compare_with_eager(std::span<const ExperimentRecord> records);

// The name of the definition's file.
std::string suite_of(const ExperimentRecord& record);

// The common properties of the experiments in one row, besides the backend. No mean is taken across
// tests, data types or numbers of threads.
struct ExperimentGroup {
  std::string suite;
  std::vector<std::string> values;  // on each of kGroupAxes
  int threads = 1;

  auto operator<=>(const ExperimentGroup&) const = default;
};

struct ExperimentSummary {
  ExperimentGroup group;
  Language language = Language::kCpp;
  Backend backend = Backend::kEager;
  std::size_t requested = 0;  // not skipped
  std::size_t measured = 0;
  std::size_t passed = 0;     // measured, and verified as PASS
  std::size_t fastest = 0;    // among the backends that work for the benchmark
  std::size_t disturbed = 0;  // speed-ups in the mean that cannot be trusted
  // Means over the experiments that passed; of the ratios to eager geometric means.
  std::optional<double> speedup;
  std::optional<double> memory_ratio;
  std::optional<double> compile_time;             // seconds
  std::optional<double> compile_cpu_time;         // CPU seconds
  std::map<std::string, std::size_t> not_passed;  // by code or failure, not of eager
};

// Summarizes by group, language and backend, in the order of kBackends.
std::vector<ExperimentSummary> summarize_experiments(const std::vector<ExperimentRecord>& records);

// The group that an experiment is summarized in.
ExperimentGroup group_of(const ExperimentRecord& record);

// A row for each summary, below what distinguishes its group from others.
DocumentTable experiment_table(const std::vector<ExperimentSummary>& summaries);

// "12 experiments: 10 measured, 1 failed, 1 skipped"
std::string experiment_line(const std::vector<ExperimentRecord>& records);

// Returns the seconds in the timed runs.
double timed_seconds(std::span<const ExperimentRecord> records);

// Limits beyond which an experiment is a finding: one that a person should look at.
inline constexpr double kMinSpeedup = 0.95;
inline constexpr double kMaxCompileTime = 120;   // seconds
inline constexpr double kMinMemoryRatio = 0.9;   // eager's peak over its own
inline constexpr std::size_t kMaxFindings = 20;  // listed of a kind

// A table for each kind of finding that there is, the worst first.
std::vector<DocumentTable> find_findings(const std::vector<ExperimentRecord>& records);
// The same tables with all their rows.
std::vector<DocumentTable> find_all_findings(const std::vector<ExperimentRecord>& records);

// A row for each experiment but eager's: its time, the speed-up with its interval and p-value, ...
DocumentTable each_experiment_table(const std::vector<ExperimentRecord>& records);

// A summary by backend (with `shows_each` after a row for each experiment), what to look at, and
// how many there were, as the last note. Programs get the rows of the first table.
Document experiment_document(const std::vector<ExperimentRecord>& records, bool shows_each);

}  // namespace instr
