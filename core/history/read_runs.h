// The runs of a history as they were recorded: to be put into another one, or exported.
#pragma once

#include <functional>
#include <memory>

#include "core/history/read.h"
#include "core/history/record.h"

namespace instr {

// One run after another; the database must outlive the function, and what it gives.
Expected<NextRun> runs_of(const SqlDatabase& database);

// A value at a commit at which it was measured.
struct HistoryPoint {
  const HistorySeries& series;
  const Commit& commit;
  double value = 0;
  std::string repetitions = {};  // JSON, of a sample that has them
};

// Every value of the chosen series, of exact ones at each measured commit: sorted by series, then
// by commit. Ends early where `take` gives false.
Expected<void> for_each_point(const SqlDatabase& database, const SeriesChoice& choice,
                              const std::function<bool(const HistoryPoint&)>& take);

}  // namespace instr
