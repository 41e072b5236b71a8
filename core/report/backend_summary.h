// Results of several backends: each compared with eager, and summed up by backend. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/report/document.h"
#include "core/results/measurement.h"
#include "core/results/significance.h"

namespace instr {

// Everything about a variant but its backend: label, parameters, autograd, threads, device,
// language.
using Benchmark = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                             Autograd, int, std::string, Language>;
Benchmark benchmark_of(const Variant& variant);

// A result, compared with that of eager.
struct AgainstEager {
  const Measurement* record = nullptr;
  const Measurement* eager = nullptr;  // null: not measured
  // Nothing unless both were measured and this one has passed.
  std::optional<Speedup> speedup;
  std::optional<std::string> disturbance;  // why the speed-up cannot be trusted
  std::optional<double> memory_ratio;      // eager's peak over this one's
  std::optional<double> compile_time;      // seconds
  std::optional<double> compile_cpu_time;  // CPU seconds

  bool is_eager() const { return record->variant.backend == Backend::kEager; }
  bool has_passed() const;  // timed, and correct if it was verified
};

// Stands before a speed-up that cannot be trusted.
inline constexpr const char* kDisturbed = "~";

// Returns a time in seconds; nothing if it was not measured.
std::optional<double> seconds_of(const Measurement& record, const char* metric);

// Shows a number of seconds, with a unit; "-" without one.
DocumentCell seconds_cell(const std::optional<double>& seconds);

// Shows a share as a percentage; "-" without one.
DocumentCell percent_cell(const std::optional<double>& share);

// Compares results with eager, in the order of keys, without skipped ones. The result points
// into `records`.
std::vector<AgainstEager> compare_with_eager(std::span<const Measurement> records);

// True if the measurement was not verified, or is correct.
bool has_passed(const Measurement& measurement);

// The wall times of a variant that works, else null.
const Timing* find_working_timing(const Measurement& measurement);

// A metric of a variant that works; nothing if it was not measured.
std::optional<double> find_working_metric(const Measurement& measurement,
                                          const std::string& metric);

// Peak of live bytes of a variant that works: the device's if that is known.
std::optional<double> find_working_peak(const Measurement& measurement);

// The measurement with the least median wall time or, if others differ from it by no more than
// chance, the first of all these in the order of kBackends, which is the plainest. Null if fewer
// than two work.
const Measurement* find_fastest(const std::vector<const Measurement*>& alternatives);

// The common properties of the results in one row, besides the backend. No mean is taken across
// tests, data types or numbers of threads.
struct SummaryGroup {
  std::string suite;
  std::vector<std::string> values;  // one for each of kGroupAxes
  int threads = 1;

  auto operator<=>(const SummaryGroup&) const = default;
};

struct BackendSummary {
  SummaryGroup group = {};
  Language language = Language::kCpp;
  Backend backend = Backend::kEager;
  std::size_t requested = 0;  // all but the skipped ones
  std::size_t measured = 0;   // timed
  std::size_t passed = 0;     // timed, and correct if verified
  std::size_t fastest = 0;    // benchmarks for which it is find_fastest()
  std::size_t disturbed = 0;  // speed-ups in the mean that cannot be trusted
  // The measures below cover the benchmarks that passed, and are absent for eager. Ratios to eager
  // are geometric means, the others and `arithmetic_speedup` arithmetic ones.
  std::optional<double> speedup = {};
  std::optional<double> arithmetic_speedup = {};
  std::optional<double> memory_ratio = {};
  std::optional<double> compile_time = {};         // seconds
  std::optional<double> compile_cpu_time = {};     // CPU seconds
  std::optional<double> coverage_operators = {};   // share
  std::optional<double> coverage_time = {};        // share
  std::map<std::string, std::size_t> chosen = {};  // backend -> graphs that it runs
  // The geometric mean of the speed-ups of each benchmark's fastest backend that passed, for
  // comparison with one that chooses for each graph.
  std::optional<double> speedup_per_model = {};
  std::map<std::string, std::size_t> not_passed = {};  // code or failure -> count, without eager's
  // Medians, nanoseconds; if requested.
  std::optional<double> first_result = {};
  std::optional<double> ready = {};
};

enum class Grouping { kNone, kBySuiteAndAxes };

// Summarizes by group, language and backend, in the order of kBackends.
std::vector<BackendSummary> summarize_backends(std::span<const Measurement> measurements,
                                               Grouping grouping);

// The group that a result is summarized in.
SummaryGroup group_of(const Measurement& record);

// A row for each backend of a run: how many benchmarks it works for, in how many it is the fastest,
// how much faster than eager (geometric mean), how long it takes to start. Absent if no language
// has two that work.
std::optional<DocumentTable> backend_table(const std::vector<Measurement>& measurements);

// Limits beyond which an experiment is a finding: one that a person should look at.
struct FlagLimits {
  double speedup = 0.95;
  double compile_time = 120;  // seconds
  double memory_ratio = 0.9;  // eager's peak over its own
};

struct SummaryOptions {
  FlagLimits flags = {};
  bool has_arithmetic_mean = false;  // a column beside the geometric mean
};

// A row for each summary of experiments, below what distinguishes its group from others.
DocumentTable experiment_table(const std::vector<BackendSummary>& summaries,
                               const SummaryOptions& options = {});

// A row for each backend that chose others for its graphs: which, how much faster than eager that
// is, and how much faster the fastest backend for each benchmark is. Nothing without such choices.
std::optional<DocumentTable> choice_table(const std::vector<BackendSummary>& summaries);

// "12 experiments: 10 measured, 1 failed, 1 skipped"; with choices also "; best per graph: eager 3,
// inductor 2"
std::string experiment_line(const std::vector<Measurement>& records);

// Returns the seconds in the timed runs of a measurement.
double timed_seconds(const Measurement& record);

inline constexpr std::size_t kMaxFindings = 20;  // listed of a kind

// A table for each kind of finding that there is, of at most `max` rows, the worst first.
std::vector<DocumentTable> find_findings(const std::vector<Measurement>& records,
                                         const FlagLimits& limits = {},
                                         std::size_t max = kMaxFindings);

// The number of experiments beyond one of these limits.
std::size_t count_flagged(const std::vector<Measurement>& records, const FlagLimits& limits);

// A row for each place at which torch.compile() broke a graph, with the reason; of experiments
// without places one row.
DocumentTable graph_break_table(const std::vector<Measurement>& records);

// A row for each experiment but eager's: its time, the speed-up with its interval and p-value, ...
DocumentTable each_experiment_table(const std::vector<Measurement>& records,
                                    const FlagLimits& limits = {});

// A summary by backend (with `shows_each` after a row for each experiment), what to look at, and
// how many there were, as the last note. Programs get the rows of the first table.
Document experiment_document(const std::vector<Measurement>& records, bool shows_each,
                             const SummaryOptions& options = {});

}  // namespace instr
