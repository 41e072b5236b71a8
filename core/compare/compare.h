// Compares two result sets: what changed, by how much, in which functions, and whether that is
// within the limits. A pure function; values are per iteration, in the metrics' own units.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/compare/accepted.h"
#include "core/compare/attribution.h"
#include "core/compare/line_changes.h"
#include "core/definitions/limit.h"
#include "core/results/result_set.h"
#include "core/results/significance.h"

namespace instr {

// By metric's name. An increase beyond `hard` fails, one beyond `soft` warns; a decrease beyond
// `hard` is a gain to announce. A metric without a limit is only shown.
struct Limits {
  std::map<std::string, Limit> hard;
  std::map<std::string, Limit> soft;
};

// Those of the metrics that every count has. Others have theirs where both sides were measured.
Limits default_limits();

struct CompareOptions {
  Limits limits = default_limits();
  // The limit of a metric is searched for here first, by the row's key, then among the (hard)
  // limits that the results carry from their definitions, then in `limits`.
  std::map<std::string, Limits> by_key;
  // The same at the base; nothing: as `by_key`.
  std::optional<std::map<std::string, Limits>> by_key_before;
  // The limits of the earlier results apply to each of their keys, so that a change cannot loosen
  // its own limits. False for expected counts, which carry none.
  bool base_has_limits = true;
  Acceptances accepted;               // changes that pass, whatever the limits
  bool allow_new = true;              // else a row that has no baseline fails
  bool allow_missing = false;         // else a row that is no longer counted fails
  bool allow_failed = false;          // else a row that fails after, or before and after, fails
  bool allow_not_comparable = false;  // else a lost metric or a count that is not steady fails
  bool allow_nothing = false;         // else a comparison without one comparable row fails
  AttributionOptions attribution;
  std::size_t max_attributions = 50;  // rows whose change is attributed, most important first
  bool wants_lines = false;           // of the sources, of these rows
};

// A limit that differs between the two sides; that of `before` applies. Nothing: no limit.
struct LimitChange {
  std::string metric;
  bool is_soft = false;
  std::optional<Limit> before;
  std::optional<Limit> after;

  auto operator<=>(const LimitChange&) const = default;
};

// "the limit of instructions is changed from 0.5% to none (0.5% holds)"
std::string limit_change_text(const LimitChange& change);

// The state of a key. Slower and faster are judged by instructions or, if these are equal, by the
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

// In the order of severity.
enum class Verdict { kPasses, kGain, kWarns, kFails };

const char* to_string(Verdict verdict);  // "passes", "gain", "warns", "fails"

struct MetricChange {
  std::string metric;
  std::optional<double> before;  // nothing if that side lacks the metric
  std::optional<double> after;
  std::optional<Limit> hard;
  std::optional<Limit> soft;
  Verdict verdict = Verdict::kPasses;
  std::optional<Acceptance> accepted = {};  // then it passes, though it is beyond its limit
  std::optional<Speedup> speedup = {};      // of times whose repetitions are known on both sides

  // after - before; nothing if a side is absent, 0 for times explained by chance.
  std::optional<double> change() const;
  // The change relative to the value before: 0.01 is 1%. Infinite if that was 0, and 0 if both are;
  // nothing if a side is absent.
  std::optional<double> relative() const;
};

struct ComparedRow {
  std::string key;
  RowState state = RowState::kSame;
  Verdict verdict = Verdict::kPasses;
  std::string reason;  // why it failed, was skipped or is not comparable; may have several lines
  // In the order of limit_metrics(), then of their names; new and missing rows have only one side.
  std::vector<MetricChange> metrics;
  std::vector<LimitChange> limit_changes;
  // Of the metric that fails, warns or gains, else of the instructions, if it changed and the
  // functions of both sides have it, for the most important rows.
  std::optional<Attribution> attribution;
  // Of the instructions, if they changed, and both sides have the costs of lines.
  std::optional<LineChanges> lines = {};

  // The metric of that name, or null.
  const MetricChange* metric(const std::string& name) const;

  // Of the instructions: after - before; 0 if a side has none.
  double ir_change() const;
};

struct ComparisonSummary {
  std::map<RowState, std::size_t> rows;  // per state that occurs
  std::map<Verdict, std::size_t> verdicts;
  std::size_t comparable = 0;  // same, slower and faster ones
  // The geometric mean of after/before of the instructions, over the `ratio_rows` comparable rows
  // in which both are above 0; nothing if there are none.
  std::optional<double> ratio;
  std::size_t ratio_rows = 0;

  std::size_t count(RowState state) const;
  std::size_t count(Verdict verdict) const;
};

struct Comparison {
  std::string before_name;
  std::string after_name;
  std::vector<ComparedRow> rows;  // most important first
  ComparisonSummary summary;
  Verdict verdict = Verdict::kPasses;  // the worst of the rows and the problems
  std::size_t not_attributed = 0;      // changed rows beyond CompareOptions::most_attributions
  // Problems of the comparison as a whole: nothing to compare, a truncated file, changed limits.
  std::vector<std::string> problems;
};

// An error if a file has two measurements of one key, a limit that a result carries cannot be
// parsed, or functions that are needed cannot be read. Functions are read only if needed.
Expected<Comparison> compare(const ResultSet& before, const ResultSet& after,
                             const CompareOptions& options = {});

}  // namespace instr
