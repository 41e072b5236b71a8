// Records runs in a history. A run is what was measured of one commit at one time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/git.h"
#include "core/base/sqlite.h"
#include "core/results/call_trees_file.h"
#include "core/results/functions_file.h"

namespace instr {

// One metric of one key.
struct RunValue {
  std::string key;
  std::string metric;
  // Equal code has the equal value, so that the series keeps only its steps; else it keeps all.
  bool is_exact = true;
  std::size_t class_index = 0;  // in HistoryRun::classes
  double value = 0;
  std::vector<double> repetitions = {};  // that the value is a statistic of
};

inline constexpr const char* kFailedState = "failed";
inline constexpr const char* kSkippedState = "skipped";

// What became of a measurement, where that is more than values.
struct RunOutcome {
  std::string key;
  std::string state;  // kFailedState, kSkippedState; or a verification's code
  std::string reason;
};

struct HistoryRun {
  Commit commit;
  std::string branch;
  std::string started;  // UTC, "2024-05-01T12:00:00Z"
  std::string version;  // of the program that measured
  std::string digest;   // a run that is recorded already has the same one
  // Fingerprint classes: the fields that must be equal in a series, as JSON pairs.
  std::vector<std::string> classes;
  std::vector<RunValue> values;
  FunctionsOf functions;                  // may be empty
  CallTreesOf call_trees = {};            // likewise
  std::vector<RunOutcome> outcomes = {};  // at most one for each key
};

// What to do if a commit is recorded with another value of an exact metric, though the class is the
// same: one of the two is not of that commit.
enum class OnContradiction { kRefuse, kReplace };

struct Recorded {
  std::size_t runs = 0;
  std::size_t known_runs = 0;  // recorded before: nothing was done
  std::size_t values = 0;
  std::size_t new_series = 0;
  std::size_t steps = 0;  // of series that had a value at an earlier commit
};

// What may differ within a series (--vary of compare), which a history has from its first run on.
// `asked`: of a history without runs, or to be
// checked by record().
Expected<std::vector<std::string>> vary_of(const SqlDatabase& database,
                                           const std::vector<std::string>& asked);

// The next run to record; nothing after the last one.
using NextRun = std::function<Expected<std::optional<HistoryRun>>()>;

// All runs at once, or, on an error, none; their commits in any order. `vary` is what their classes
// were made with.
Expected<Recorded> record(const SqlDatabase& database, const NextRun& next,
                          OnContradiction on_contradiction,
                          const std::vector<std::string>& vary = {});
Expected<Recorded> record(const SqlDatabase& database, std::vector<HistoryRun> runs,
                          OnContradiction on_contradiction,
                          const std::vector<std::string>& vary = {});

// The same within a transaction of the caller's.
Expected<void> record_more(const SqlDatabase& database, std::vector<HistoryRun> runs);

// "12 values, 4 of new series; 1 new step".
std::string to_string(const Recorded& recorded);

}  // namespace instr
