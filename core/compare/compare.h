// Finds the source lines whose costs changed between two measurements of a variant. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compare/accepted.h"
#include "core/compare/attribution.h"
#include "core/definitions/limit.h"
#include "core/profile/profile.h"
#include "core/results/result_set.h"
#include "core/results/significance.h"

namespace instr {

// A line on one side.
struct LineSide {
  int line = 0;      // 0: the line has no costs on this side, or does not exist
  double self = 0;   // instructions per iteration
  std::string text;  // the source; empty: unknown
};

struct LineChange {
  std::string file;  // the name after; a file that is only before has its name before
  LineSide before;
  LineSide after;

  double change() const { return after.self - before.self; }
};

struct LineChanges {
  // By file, beginning with the file that changed most, then by line.
  std::vector<LineChange> lines;
  double elsewhere = 0;  // the rest of the change: in code without line numbers
};

// `difference`: of the counts. Lines are matched by their texts, as a longest common subsequence.
// Files are matched by their paths or else, if that is unambiguous, by their names.
LineChanges compare_lines(const LineCosts& before, const LineCosts& after, double difference);

// Data beside counts that only some results have, and that an option needs.

struct KeptKind {
  const char* things;  // "call paths"
  const char* option;  // the option of a run that keeps them: "--call-paths"

  // Returns the error for results that lack this data.
  Error missing_in(const std::string& results) const {
    return {{},
            printable(results) + ": these results have no " + things,
            std::string("measure with ") + option + ", both before and after"};
  }
};

inline constexpr KeptKind kKeptPaths{"call paths", "--call-paths"};
inline constexpr KeptKind kKeptLines{"costs of lines", "--lines"};

// An error if the first count lacks these values. Other counts are checked when they are needed.
template <class Value>
Expected<void> check_kept(const ResultSet& results, const ValuesOf<Value>& values,
                          const KeptKind& kind) {
  for (const Measurement& measurement : results.results.measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr || !counted->has_count()) continue;
    if (!values) return fail(kind.missing_in(results.name));
    TRY_ASSIGN(auto value, values(measurement.variant.key));
    return value ? Expected<void>() : tl::unexpected(kind.missing_in(results.name));
  }
  return {};
}

// Compares two result sets: which metrics changed, by how much, in which functions, and whether the
// changes are within the limits. Pure; values are per iteration, in the units of the metrics.

// Limits by metric. An increase beyond `hard` fails, an increase beyond `soft` warns, and a
// decrease beyond `hard` is a gain to announce, or fails (CompareOptions::has_ratchet). A metric
// without a limit is only shown.
struct Limits {
  std::map<std::string, Limit> hard;
  std::map<std::string, Limit> soft;
};

// The limits of the metrics that every count has. Other metrics have theirs if both sides were
// measured.
Limits default_limits();

struct CompareOptions {
  Limits limits = default_limits();
  // Limits by key, and margins of expected counts. kLimitSources (judge.h) says which one wins.
  std::map<std::string, Limits> by_key;
  std::map<std::string, Limits> margins = {};
  // Limits by key at the base; nothing: as `by_key`.
  std::optional<std::map<std::string, Limits>> by_key_before;
  // The limits of the earlier results apply to each of their keys, so that a change cannot loosen
  // its own limits. False for expected counts, which carry none.
  bool base_has_limits = true;
  Acceptances accepted;  // changes that pass, whatever the limits
  // If false, the check fails for these:
  bool allow_new = true;              // a row that has no baseline
  bool allow_missing = false;         // a row that is no longer counted
  bool allow_failed = false;          // a row that fails after, or before and after
  bool allow_not_comparable = false;  // a lost metric, or a count that is not steady
  bool allow_nothing = false;         // a comparison without any comparable row
  bool has_ratchet = false;           // a gain fails, too, until it is accepted
  AttributionOptions attribution;
  std::size_t max_attributions = 50;  // rows whose change is attributed, most important first
  bool wants_lines = false;           // compares the source lines of these rows, too
};

// A limit that differs between the two sides; the limit of `before` applies. Nothing: no limit.
struct LimitChange {
  std::string metric;
  bool is_soft = false;
  std::optional<Limit> before;
  std::optional<Limit> after;

  auto operator<=>(const LimitChange&) const = default;
};

// "the limit of instructions is changed from 0.5% to none (0.5% holds)"
std::string to_string(const LimitChange& change);

// The state of a key. Slower and faster are judged by the first metric that differs, in the order
// of limit_metrics(), which begins with instructions, and then of their names.
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
  kNotComparable,  // counted on both sides; ComparedRow::reason says why it cannot be compared
};

const char* to_string(RowState state);  // "same", ..., "failed after", "not comparable"

// Verdicts in the order of severity.
enum class Verdict { kPasses, kGain, kWarns, kFails };

const char* to_string(Verdict verdict);  // "passes", "gain", "warns", "fails"

struct MetricChange {
  std::string metric;
  std::optional<double> before;  // nothing if that side lacks the metric
  std::optional<double> after;
  std::optional<Limit> hard;
  std::optional<Limit> soft;
  Verdict verdict = Verdict::kPasses;
  std::optional<Acceptance> accepted = {};  // set: it passes, though it is beyond its limit
  std::optional<Speedup> speedup = {};      // set for times with known repetitions on both sides

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
  // For the most important rows: the functions in which the metric that fails, warns or gains
  // changed, else those in which the instructions did, if the functions of both sides are known.
  std::optional<Attribution> attribution;
  // The lines in which the instructions changed, if both sides have the costs of lines.
  std::optional<LineChanges> lines = {};

  const MetricChange* metric(const std::string& name) const;  // null if the row lacks it
  double ir_change() const;  // instructions after - before; 0 if a side has none
};

struct ComparisonSummary {
  std::map<RowState, std::size_t> rows;  // the number of rows in each state that occurs
  std::map<Verdict, std::size_t> verdicts;
  std::size_t comparable = 0;  // rows that are same, slower or faster
  // The geometric mean of after/before of the instructions, over the `ratio_rows` comparable rows
  // in which both are above 0; nothing if there are none.
  std::optional<double> ratio;
  std::size_t ratio_rows = 0;

  std::size_t count(RowState state) const { return rows.contains(state) ? rows.at(state) : 0; }
  std::size_t count(Verdict verdict) const {
    return verdicts.contains(verdict) ? verdicts.at(verdict) : 0;
  }
};

struct Comparison {
  std::string before_name;
  std::string after_name;
  std::vector<ComparedRow> rows;  // most important first
  ComparisonSummary summary;
  Verdict verdict = Verdict::kPasses;  // the worst of the rows and the problems
  std::size_t not_attributed = 0;      // changed rows beyond CompareOptions::max_attributions
  // Problems of the comparison as a whole: nothing to compare, a truncated file, changed limits.
  std::vector<std::string> problems;
};

// An error if a file has two measurements of one key, a limit that a result carries cannot be
// parsed, or functions that are needed cannot be read. Functions are read only if needed.
Expected<Comparison> compare(const ResultSet& before, const ResultSet& after,
                             const CompareOptions& options = {});

}  // namespace instr
