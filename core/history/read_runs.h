// Reads the runs of a history as they were recorded, to merge them into another one or export them.
#pragma once

#include <functional>
#include <memory>

#include "core/history/read.h"
#include "core/history/record.h"

namespace instr {

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

}  // namespace instr
