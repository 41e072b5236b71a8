// Two result sets against each other: what changed, by how much, in which functions, and whether
// that is within the limits. A pure function; values are for each iteration, in the metrics' own
// units.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/limit.h"
#include "core/results/functions_file.h"
#include "core/results/results.h"
#include "core/values/attribution.h"
#include "core/values/significance.h"

namespace instr {

// Of a result set that is in memory.
FunctionsOf functions_from(std::map<std::string, std::vector<FunctionCost>> functions);

struct ResultSet {
  std::string name;  // for messages: "the baseline", a file
  Results results;
  FunctionsOf functions;  // may be empty: then nothing is attributed
};

// By metric's name. A growth beyond `hard` fails, one beyond `soft` warns; a fall beyond `hard` is
// a gain to announce. A metric without a limit is only shown.
struct Limits {
  std::map<std::string, Limit> hard;
  std::map<std::string, Limit> soft;
};

// Those of the table of metrics.
Limits default_limits();

struct CompareOptions {
  Limits limits = default_limits();
  // For each metric a limit is looked for here first, by the row's key, then among the limits that
  // the results carry from their definition (hard ones), then in `limits`.
  std::map<std::string, Limits> by_key;
  // The same as it was at the base; nothing: as `by_key`.
  std::optional<std::map<std::string, Limits>> by_key_before;
  // The limits of the earlier results hold for each key that they have, so that no change loosens
  // what it is held to. False for expected counts, which carry none.
  bool base_has_limits = true;
  bool allow_new = true;              // else a row that has no baseline fails
  bool allow_missing = false;         // else a row that is no longer counted fails
  bool allow_failed = false;          // else a row that fails after, or before and after, fails
  bool allow_not_comparable = false;  // else a lost metric or a count that is not steady fails
  bool allow_nothing = false;         // else a comparison without one comparable row fails
  AttributionOptions attribution;
  std::size_t most_attributions = 50;  // rows whose change is attributed, what matters most first
};

// A limit that differs between the two sides; that of `before` holds. Nothing: there is none.
struct LimitChange {
  std::string metric;
  bool is_soft = false;
  std::optional<Limit> before;
  std::optional<Limit> after;

  auto operator<=>(const LimitChange&) const = default;
};

// What became of a key. Slower and faster go by instructions or, where these are equal, by the
// first other metric that differs, in the order of limit_metrics() and then of their names.
enum class RowState {
  kSame,  // every metric is exactly equal
  kSlower,
  kFaster,
  kNew,           // counted after; before absent or skipped
  kMissing,       // absent after
  kFailedBefore,  // counted after
  kFailedAfter,
  kFailedBoth,
  kSkipped,        // skipped after
  kNotComparable,  // counted in both, but `reason`
};

const char* to_string(RowState state);  // "same", ..., "failed after", "not comparable"

// In the order of their weight.
enum class Verdict { kPasses, kGain, kWarns, kFails };

const char* to_string(Verdict verdict);  // "passes", "gain", "warns", "fails"

struct MetricChange {
  std::string metric;
  std::optional<double> before;  // nothing where that side has no such metric
  std::optional<double> after;
  std::optional<Limit> hard;
  std::optional<Limit> soft;
  Verdict verdict = Verdict::kPasses;
  std::optional<Speedup> speedup = {};  // of times whose repetitions are known on both sides

  // after - before; nothing where a side is absent, 0 of times that chance explains.
  std::optional<double> change() const;
  // The change as a share of what was before: 0.01 is 1%. Infinite where that was 0, and 0 where
  // both are; nothing where a side is absent.
  std::optional<double> relative() const;
};

struct ComparedRow {
  std::string key;
  RowState state = RowState::kSame;
  Verdict verdict = Verdict::kPasses;
  std::string reason;  // why it failed, was skipped or is not comparable; may have several lines
  // In the order of limit_metrics(), then of their names; of one side alone for new and missing
  // ones.
  std::vector<MetricChange> metrics;
  std::vector<LimitChange> limit_changes;
  // Of the metric that fails, warns or gains, else of the instructions, where it changed and the
  // functions of both sides tell of it, for the rows that matter most.
  std::optional<Attribution> attribution;

  // The metric of that name; null where there is none.
  const MetricChange* metric(const std::string& name) const;

  // Of the instructions: after - before; 0 where a side has none.
  double ir_change() const;
};

struct ComparisonSummary {
  std::map<RowState, std::size_t> rows;  // of each state that occurs
  std::map<Verdict, std::size_t> verdicts;
  std::size_t comparable = 0;  // same, slower and faster ones
  // Of after/before of the instructions, over the `ratio_rows` comparable rows where it is above 0
  // on both sides; nothing where there are none.
  std::optional<double> ratio;
  std::size_t ratio_rows = 0;

  std::size_t count(RowState state) const;
  std::size_t count(Verdict verdict) const;
};

struct Comparison {
  std::string before_name;
  std::string after_name;
  std::vector<ComparedRow> rows;  // what matters most first
  ComparisonSummary summary;
  Verdict verdict = Verdict::kPasses;  // the worst of the rows and the problems
  std::size_t not_attributed = 0;      // changed rows beyond CompareOptions::most_attributions
  // What is to be said of the comparison as a whole: nothing to compare, a file that was cut off,
  // limits that are changed.
  std::vector<std::string> problems;
};

// An error where a file has two measurements of one key, a limit that a result carries cannot be
// parsed, or functions that are wanted cannot be read. Functions are asked for where they are
// wanted alone.
Expected<Comparison> compare(const ResultSet& before, const ResultSet& after,
                             const CompareOptions& options = {});

}  // namespace instr
