// Benchmarks of a history that have another name from a commit on: found, so that a person may
// decide, and joined once one has.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/renames.h"
#include "core/history/read.h"

namespace instr {

struct RecordedRename {
  Rename names;
  Commit commit;  // the first one that was measured under the new name
};

// Of the chosen series whose last commit is followed by the first one of others. Each pair once.
Expected<std::vector<RecordedRename>> read_renames(const SqlDatabase& database,
                                                   const SeriesChoice& choice);

struct Renamed {
  std::size_t series = 0;
  std::size_t joined = 0;  // of them, with one of the new name
};

// Gives all series of a key another one, joined with those that it has. An error if there is none,
// or if a commit was measured under both: then they are two benchmarks.
Expected<Renamed> rename(const SqlDatabase& database, const Rename& names);

}  // namespace instr
