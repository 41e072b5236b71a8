// Records runs in a history. A run is the measurements of one commit at one time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/git.h"
#include "core/base/sqlite.h"
#include "core/definitions/limit.h"
#include "core/results/profiles_file.h"

namespace instr {

// A step of an exact metric: a series is kept as the value at the first measured commit, and at
// each that differs from the measured commit before. A Timeline knows which commits were measured,
// and so tells "unchanged" from "not measured".
struct Step {
  Place place;
  double value = 0;

  bool operator==(const Step&) const = default;
};

using Steps = std::vector<Step>;  // sorted by place

// Returns the step whose value holds at `place`; nothing before the first.
std::optional<Step> step_at(const Steps& steps, const Place& place);

// Returns the steps with this value at `place`, whether or not it had one. `next`: the next
// measured commit, which keeps its value.
Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next);

// Returns the steps without the value at `place`. `next`: as above.
Steps without_value(const Steps& steps, const Place& place, const std::optional<Place>& next);

// Returns the steps from `first` on, a measured commit.
Steps steps_since(const Steps& steps, const Place& first);

// A metric of a key.
struct RunValue {
  std::string key;
  std::string metric;
  // Equal code has equal values, so the series keeps only its steps; otherwise it keeps all values.
  bool is_exact = true;
  std::size_t class_index = 0;  // index into HistoryRun::classes
  double value = 0;
  std::vector<double> repetitions = {};  // the value is a statistic of these
};

inline constexpr const char* kFailedState = "failed";
inline constexpr const char* kSkippedState = "skipped";

// A measurement that has more than values: it failed, was skipped or was verified.
struct RunOutcome {
  std::string key;
  std::string state;  // kFailedState, kSkippedState; or a verification's code
  std::string reason;
};

using LimitsOfKeys = std::map<std::string, LimitTexts>;

struct HistoryRun {
  Commit commit;
  std::string branch;
  std::string started;  // UTC, "2024-05-01T12:00:00Z"
  std::string version;  // the version of the program that measured
  std::string digest;   // equal for equal runs, which are recorded once
  // Fingerprint classes: the fields that must be equal in a series, as JSON pairs.
  std::vector<std::string> classes = {};
  std::vector<RunValue> values = {};
  FunctionsOf functions = {};             // may be empty
  CallTreesOf call_trees = {};            // may be empty
  std::vector<RunOutcome> outcomes = {};  // no more than one for each key
  // The options of its command that name the definitions: {"--definitions=bench.toml"}.
  std::vector<std::string> definitions = {};
  LimitsOfKeys limits = {};  // the benchmarks whose definitions set limits
};

// How to handle a commit that is recorded with another value of an exact metric and the same class:
// one of the two was measured with other code.
enum class OnContradiction { kRefuse, kReplace };

struct Recorded {
  std::size_t runs = 0;
  std::size_t known_runs = 0;  // skipped, since they were recorded before
  std::size_t values = 0;
  std::size_t new_series = 0;
  std::size_t steps = 0;  // steps of series that had a value at an earlier commit
};

// Returns the fields that may differ within a series (--vary of compare), which the first run of a
// history settles. `asked` is returned if it is not empty, for record() to check, or if there are
// no runs.
Expected<std::vector<std::string>> resolve_vary(const SqlDatabase& database,
                                                const std::vector<std::string>& asked);

// Returns the next run to record; nothing after the last one.
using NextRun = std::function<Expected<std::optional<HistoryRun>>()>;

// Records all runs or, on an error, none; their commits may come in any order. `vary`: the fields
// that their classes leave out.
Expected<Recorded> record(const SqlDatabase& database, const NextRun& next,
                          OnContradiction on_contradiction,
                          const std::vector<std::string>& vary = {});
Expected<Recorded> record(const SqlDatabase& database, std::vector<HistoryRun> runs,
                          OnContradiction on_contradiction,
                          const std::vector<std::string>& vary = {});

// Records runs within a transaction of the caller, replacing contradictory values.
Expected<void> record_in_transaction(const SqlDatabase& database, std::vector<HistoryRun> runs);

// "12 values, 4 of new series; 1 new step".
std::string to_string(const Recorded& recorded);

// Removes the older part of a history.

struct Pruned {
  std::size_t runs = 0;
  std::size_t series = 0;  // series left without any value
};

// Removes the runs of commits before `first`, of one branch or of all. Later commits keep their
// values.
Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch);

// Shrinks the file to its content, which meanwhile needs as much space again.
Expected<void> compact(const SqlDatabase& database);

// The options of a command that say which definitions it measured, so that another command measures
// the same.

// Returns these options of the command, each as one word: {"--definitions=bench.toml"}. The path of
// a file below `project` becomes relative to it; empty: no path changes.
std::vector<std::string> select_definition_options(const std::vector<std::string>& command,
                                                   const std::string& project);

}  // namespace instr
