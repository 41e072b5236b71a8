// Reads the content of a history.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/git.h"
#include "core/base/sqlite.h"
#include "core/compare/compare.h"
#include "core/history/record.h"
#include "core/results/fingerprint.h"

namespace instr {

struct HistorySeries {
  std::int64_t id = 0;
  std::string key;
  std::string metric;
  std::string branch;
  std::int64_t class_id = 0;  // the fingerprint's class
  bool is_exact = true;
};

// Orders series by key, metric (as in kMetrics), branch and class.
bool is_before(const HistorySeries& left, const HistorySeries& right);

// Returns the commits by their numbers.
std::map<std::int64_t, Commit> read_commits(const SqlDatabase& database);

struct Branch {
  std::int64_t id = 0;
  std::string name;
};

// Returns the branches, sorted by name.
std::vector<Branch> read_branches(const SqlDatabase& database);

// Returns the number of the branch with that name, if any. Throws an SqlError.
std::optional<std::int64_t> find_branch(const SqlDatabase& database, const std::string& name);

// A selection of series.
struct SeriesChoice {
  std::function<bool(const std::string& key)> key = {};  // empty: all
  std::vector<std::string> metrics = {};                 // empty: all
  std::optional<std::string> branch = {};

  bool has(const HistorySeries& series) const;
};

struct SeriesSummary {
  HistorySeries series;
  std::size_t measured = 0;  // commits, or samples
  std::size_t steps = 0;     // steps after the first value of an exact series
  Commit last;               // the last commit at which it was measured
  double value = 0;          // the value at commit `last`
};

// Returns a summary of each chosen series, in the order of is_before().
Expected<std::vector<SeriesSummary>> read_series(const SqlDatabase& database,
                                                 const SeriesChoice& choice);

struct RecordedStep {
  HistorySeries series;
  Commit commit;
  MetricChange change;  // judged; `before` is nothing at the first measured commit
  std::int64_t commit_id = 0;
  std::int64_t before_id = 0;  // the commit with the previous step
  // The measured commit before `commit`, except for first values.
  std::optional<Commit> measured_before = {};
  bool is_regression = false;  // a step beyond its limit, neither accepted nor undone since

  // Returns the number of commits before `commit` that were not measured and may have made the
  // step.
  std::int64_t count_other_candidates() const;
};

// Returns the steps after `since`, if given, in the order of their commits, judged by the limits of
// the run before. `with_first`: with the first values of series, which are not judged.
Expected<std::vector<RecordedStep>> read_steps(const SqlDatabase& database,
                                               const SeriesChoice& choice,
                                               const std::optional<Place>& since, bool with_first,
                                               const Acceptances& accepted = {});

// A value of a run.
struct Sample {
  Commit commit;
  std::int64_t commit_id = 0;
  std::int64_t run_id = 0;
  double value = 0;
  std::string repetitions;  // JSON of the repetitions behind the value; empty: none recorded
};

// A series with all its samples, in the order of their commits.
struct SampledSeries {
  HistorySeries series;
  std::vector<Sample> samples;
};

// Throws an SqlError.
void for_each_sampled(const SqlDatabase& database, const SeriesChoice& choice,
                      const std::function<void(const SampledSeries&)>& take);

struct RecordedOutcome {
  std::string branch;
  Commit commit;
  RunOutcome outcome;
};

// Returns the outcomes in the order of their runs. Throws an SqlError.
std::vector<RecordedOutcome> read_outcomes(const SqlDatabase& database, const SeriesChoice& choice);

// A commit from which on keys are measured with another fingerprint: series end, others begin.
struct SeriesBreak {
  std::string branch;
  Commit commit;
  std::vector<FieldDifference> differences;
  std::size_t series = 0;  // the number of series that break here for the same reason
};

Expected<std::vector<SeriesBreak>> read_breaks(const SqlDatabase& database,
                                               const SeriesChoice& choice);

// A step whose commit is not yet known: the hashes of two commits between which a value changed and
// no other was measured.
struct OpenStep {
  std::string before;
  std::string after;

  auto operator<=>(const OpenStep&) const = default;
};

// Returns the open steps of the exact series of a branch: each pair once, in the order of commits.
Expected<std::vector<OpenStep>> read_open_steps(const SqlDatabase& database,
                                                const std::string& branch);

// Returns the keys of all series, each once, sorted.
Expected<std::vector<std::string>> read_keys(const SqlDatabase& database);

// Returns the number of benchmarks that failed in the last run of the commit; nothing if the
// history has no run of it.
Expected<std::optional<std::int64_t>> count_failures(const SqlDatabase& database,
                                                     const std::string& branch,
                                                     const std::string& hash);

// Reads the runs of a history as they were recorded, to merge them into another one or export them.

// Returns a function that returns one run after the other. The database must outlive it and the
// runs.
Expected<NextRun> read_runs(const SqlDatabase& database);

// A value at a commit at which it was measured.
struct HistoryPoint {
  const HistorySeries& series;
  const Commit& commit;
  double value = 0;
  std::string repetitions = {};  // a sample's repetitions as JSON; empty: none recorded
};

// Visits every value of the chosen series, exact ones at each measured commit: sorted by series,
// then by commit. Stops when `take` returns false.
Expected<void> for_each_point(const SqlDatabase& database, const SeriesChoice& choice,
                              const std::function<bool(const HistoryPoint&)>& take);

// Returns the value of a JSON text; throws an SqlError if it has another form.
template <class Value>
Value parse_stored(const SqlDatabase& database, const std::string& text, const char* complaint) {
  try {
    return nlohmann::json::parse(text).get<Value>();
  } catch (const nlohmann::json::exception&) {
    database.fail_as_damaged(complaint);
  }
}

}  // namespace instr
