// Steps that cost more and that no one accepted: what they are, and an issue about them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/accepted.h"
#include "core/history/read.h"

namespace instr {

// Of exact metrics, beyond the usual limit, and not undone since; in the order of their commits.
Expected<std::vector<RecordedStep>> unaccepted_growth(const SqlDatabase& database,
                                                      const SeriesChoice& choice,
                                                      const std::optional<Place>& since,
                                                      const Acceptances& accepted);

// An issue's text in Markdown, whose first line is its title: the benchmarks by commit, with their
// functions, and the commands that show it again and that accept it. `options`: those of the runs.
Expected<std::string> growth_issue(const SqlDatabase& database,
                                   const std::vector<RecordedStep>& steps,
                                   const std::vector<std::string>& options);

}  // namespace instr
