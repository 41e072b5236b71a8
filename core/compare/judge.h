// Decides whether something is worse: by the limits that apply, by accepted changes and, of times,
// by chance. Comparisons, histories and pages have their verdicts from here alone. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compare/compare.h"

namespace instr {

// A side of a comparison, of which the limits of a key are asked.
struct LimitQuery {
  const std::string& key;
  const LimitTexts& carried;  // the limits in its results
  const CompareOptions& options;
  bool is_base = false;
};

// A place where limits can be set.
struct LimitSource {
  const char* name;  // the name in docs/LIMITS.md
  bool is_of_base;   // the base's version applies, so that a change cannot loosen its own limit
  // Adds the limits of metrics that have none yet.
  Expected<void> (*add)(Limits& limits, const LimitQuery& query);
};

// The sources, the most specific first: the first that has a limit of a metric decides.
extern const std::vector<LimitSource> kLimitSources;

// Returns the limit of each metric. An error if a limit that the results carry is invalid.
Expected<Limits> find_limits(const LimitQuery& query);

struct MeasurementPair {
  const Measurement* before = nullptr;  // null if that side lacks the key
  const Measurement* after = nullptr;
};

// Adds the metrics of a count, whether their values are valid or not.
void add_metrics(std::set<std::string>& names, const Counted& counted);

// At least one side of `pair` is set. `known_before`: the metrics of all earlier results; any other
// metric is newly requested, and not lost. An error if a limit that a measurement carries is
// invalid.
Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options);

// A metric of a key that was measured alike at successive commits or in successive files.
struct Sequence {
  const std::string& key;
  const std::string& metric;
  bool is_exact = true;  // equal code has equal values
};

struct SequenceValue {
  double value = 0;
  const Limits* limits = nullptr;  // the previous run's, which apply to the change to this value
  std::vector<double> repetitions = {};  // the value is a statistic of these
};

struct SequenceChange {
  std::size_t at = 0;  // the index of the later value
  MetricChange change;
  bool is_regression = false;  // it fails, and so does the change to the last value
};

// Judges each value by the one before it, as compare() judges two files, and returns the changes:
// of exact values each difference, of times those that exceed chance, of other values those beyond
// a limit.
std::vector<SequenceChange> compare_sequence(const Sequence& sequence,
                                             const std::vector<SequenceValue>& values,
                                             const Acceptances& accepted);

}  // namespace instr
