// Tables of a history, and its steps that cost more as an issue.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/accepted.h"
#include "core/history/read.h"
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

// "main, at 0123456789ab (2026-01-02): measured differently from here, so 12 other series begin: …"
// for each break.
std::vector<std::string> break_lines(const std::vector<SeriesBreak>& breaks);

// An issue in Markdown about regressions, whose first line is the title: the benchmarks by commit,
// with their functions, and the commands that reproduce and that accept the growth. `options`: of
// the runs.
Expected<std::string> growth_issue(const SqlDatabase& database,
                                   const std::vector<RecordedStep>& steps,
                                   const std::vector<std::string>& options);

}  // namespace instr
