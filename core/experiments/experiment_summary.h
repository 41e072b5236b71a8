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

// An experiment beside that of eager.
struct AgainstEager {
  const ExperimentRecord* record = nullptr;
  const ExperimentRecord* eager = nullptr;  // null: there is none that was measured
  // Of what was measured and has passed, against eager.
  std::optional<Speedup> speedup;
  std::optional<double> memory_ratio;  // eager's peak over its own
  std::optional<double> compile_time;  // seconds

  bool is_eager() const { return record->variant.backend == Backend::kEager; }
  bool has_passed() const;  // measured, and right: only then are its figures worth something
};

// In the order of keys, each once; skipped ones are left out. Points into `records`.
std::vector<AgainstEager> against_eager(std::span<const ExperimentRecord> records);

// The name of the file that it is defined in.
std::string suite_of(const ExperimentRecord& record);

// What the experiments of one row have in common besides the backend. Figures of another test, type
// or number of threads are no answer to the same question, so that no mean is taken across them.
struct ExperimentGroup {
  std::string suite;
  // What they have on each of kGroupAxes, in that order.
  std::vector<std::string> values;
  int threads = 1;

  auto operator<=>(const ExperimentGroup&) const = default;
};

struct ExperimentSummary {
  ExperimentGroup group;
  Language language = Language::kCpp;
  Backend backend = Backend::kEager;
  std::size_t requested = 0;  // experiments that were not skipped
  std::size_t measured = 0;   // of these
  std::size_t passed = 0;     // of these measured and verified as PASS
  std::size_t fastest = 0;    // fastest_of() those that more than one backend works for
  // Geometric means over those that passed: how much faster than eager per iteration, and how
  // many times less memory its tensors take.
  std::optional<double> speedup;
  std::optional<double> memory_ratio;
  std::optional<double> compile_time;  // mean of those that passed, seconds
  // Of those that did not pass, how many have which code, or failed how; eager has none.
  std::map<std::string, std::size_t> not_passed;
};

// By group, language and backend, in the order of kBackends.
std::vector<ExperimentSummary> summarize_experiments(const std::vector<ExperimentRecord>& records);

// A row for each summary, below what distinguishes its group from others.
DocumentTable experiment_table(const std::vector<ExperimentSummary>& summaries);

// "12 experiments: 10 measured, 1 failed, 1 skipped"
std::string experiment_line(const std::vector<ExperimentRecord>& records);

// Seconds in the runs that were timed.
double timed_seconds(std::span<const ExperimentRecord> records);

// A summary by backend (with `shows_each` after a row for each experiment), what to look at, and
// how many there were, as the last note. Programs get the rows of the first table.
Document experiment_document(const std::vector<ExperimentRecord>& records, bool shows_each);

}  // namespace instr
