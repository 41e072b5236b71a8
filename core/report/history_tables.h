// Tables of a history, and its steps that cost more as an issue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/accepted.h"
#include "core/history/read.h"
#include "core/history/read_runs.h"
#include "core/report/document.h"

namespace instr {

// A row for each series.
DocumentTable series_table(const std::vector<SeriesSummary>& series);

// A row for each step. For steps of the instructions that have functions, the functions that moved:
// for people those of the first steps, in lines of at most `width` columns (0: any).
struct StepsShowing {
  bool with_functions = true;
  std::size_t max_functions = 20;  // steps for people
  std::size_t width = 0;
};
Expected<DocumentTable> steps_table(const SqlDatabase& database,
                                    const std::vector<RecordedStep>& steps,
                                    const StepsShowing& showing);

// A value at a commit; without a point, the columns alone.
DocumentTable points_table();
DocumentTable points_table(const HistoryPoint& point);

// "main, at 0123456789ab (2026-01-02): 12 series end and others begin: compiler: …", for each.
std::vector<std::string> break_lines(const std::vector<SeriesBreak>& breaks);

// Steps that cost more and that no one accepted: of exact metrics, beyond the usual limit, and not
// undone since; in the order of their commits.
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
