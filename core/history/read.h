// The content of a history as values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/git.h"
#include "core/base/sqlite.h"
#include "core/history/record.h"
#include "core/results/fingerprint_check.h"

namespace instr {

struct HistorySeries {
  std::int64_t id = 0;
  std::string key;
  std::string metric;
  std::string branch;
  std::int64_t class_id = 0;  // of the fingerprint
  bool is_exact = true;
};

// From a row that begins with the columns of the view all_series.
HistorySeries series_at(const SqlStatement& row);

// By key, in the order of metrics, by branch and class.
bool is_before(const HistorySeries& left, const HistorySeries& right);

// By their numbers.
std::map<std::int64_t, Commit> read_commits(const SqlDatabase& database);

struct Branch {
  std::int64_t id = 0;
  std::string name;
};

// By their names.
std::vector<Branch> read_branches(const SqlDatabase& database);

// Which series are asked for.
struct SeriesChoice {
  std::function<bool(const std::string& key)> key = {};  // empty: all
  std::vector<std::string> metrics = {};                 // empty: all
  std::optional<std::string> branch = {};

  bool has(const HistorySeries& series) const;
};

struct SeriesSummary {
  HistorySeries series;
  std::size_t measured = 0;  // commits, or samples
  std::size_t steps = 0;     // of an exact one, without its first value
  Commit last;               // at which it was measured
  double value = 0;          // there
};

// Sorted by key, in the order of metrics, by branch.
Expected<std::vector<SeriesSummary>> read_series(const SqlDatabase& database,
                                                 const SeriesChoice& choice);

struct RecordedStep {
  HistorySeries series;
  Commit commit;
  std::optional<double> before;  // nothing at the first measured commit
  double after = 0;
  std::int64_t commit_id = 0;
  std::int64_t before_id = 0;  // of the commit with the step before
  // Of a sampled series: `before` and `after` are the medians on both sides of a change point,
  // which chance would make with this probability.
  std::optional<double> p = {};
};

// In the order of their commits. Those after `since`, if that is given; `with_first`: the first
// values of series, too.
Expected<std::vector<RecordedStep>> read_steps(const SqlDatabase& database,
                                               const SeriesChoice& choice,
                                               const std::optional<Place>& since, bool with_first);

// A series that keeps all its samples, in the order of their commits.
struct SampledSeries {
  HistorySeries series;
  std::vector<Commit> commits;
  std::vector<double> values;
};

// Throws an SqlError.
void for_each_sampled(const SqlDatabase& database, const SeriesChoice& choice,
                      const std::function<void(const SampledSeries&)>& take);

// What became of a measurement at a commit, where that is more than values.
struct RecordedOutcome {
  std::string branch;
  Commit commit;
  RunOutcome outcome;
};

// In the order of their runs. Throws an SqlError.
std::vector<RecordedOutcome> read_outcomes(const SqlDatabase& database, const SeriesChoice& choice);

// A key that is measured otherwise from a commit on: its series ends, and another begins.
struct SeriesBreak {
  std::string branch;
  Commit commit;
  std::vector<FieldDifference> differences;
  std::size_t series = 0;  // that break here, for the same reason
};

Expected<std::vector<SeriesBreak>> read_breaks(const SqlDatabase& database,
                                               const SeriesChoice& choice);

// A step of which it is not yet known which commit made it: the hashes of two commits, between
// which a value changed and none was measured.
struct OpenStep {
  std::string before;
  std::string after;

  auto operator<=>(const OpenStep&) const = default;
};

// Returns the open steps of a branch's exact series: each pair once, in the order of commits.
Expected<std::vector<OpenStep>> open_steps(const SqlDatabase& database, const std::string& branch);

// The keys of all series, each once, sorted.
Expected<std::vector<std::string>> recorded_keys(const SqlDatabase& database);

// The number of benchmarks that failed in the commit's last run; nothing if the history has no run
// of it.
Expected<std::optional<std::int64_t>> failures_at(const SqlDatabase& database,
                                                  const std::string& branch,
                                                  const std::string& hash);

}  // namespace instr
