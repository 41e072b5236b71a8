// The cells that the table and the Markdown report show: measurements of one benchmark side by
// side.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/report/report.h"
#include "core/report/table.h"

namespace instr {

// A value in its metric's unit: "1,234", "1.23 ms".
std::string format_metric(const std::string& metric, double value);

struct GridColumn {
  std::string heading;    // words; "eager fwd+bwd"
  std::string span = {};  // what neighbours with the same one share: "instructions"
};

// Of a column that stands alone: "eager" of instructions, else "wall time eager".
std::string full_heading(const GridColumn& column);

// One label with its parameters, threads and device.
struct GridRow {
  std::string full_name;         // "matmul/mm n=64 t2"
  std::string name;              // without the group: "mm n=64 t2"
  std::vector<TableCell> cells;  // one for each column
};

// Rows whose labels start alike ("matmul").
struct GridGroup {
  std::string name;
  std::vector<GridRow> rows;
};

struct Grid {
  std::vector<GridColumn> columns;
  std::vector<GridGroup> groups;
  std::vector<std::string> footnotes;
};

// A row for each benchmark, its variants side by side; allocations are those of the eager forward
// variant, or else of the first that was counted.
Grid make_grid(const std::vector<Measurement>& measurements, const ReportOptions& options);

// For narrow terminals: a group for each benchmark, with a row for each variant.
Grid make_tall_grid(const std::vector<Measurement>& measurements, const ReportOptions& options);

// What the tables' values are: "instructions", "times" or both.
std::string shown_values(const ReportOptions& options);

// A row for each runtime: how many benchmarks it works for, in how many it is the fastest, how much
// faster than eager (geometric mean), how long it takes to begin. No columns where less than two
// were timed.
Grid make_backend_grid(const std::vector<Measurement>& measurements);

// As text: columns where they fit, else a line for each value below the title. 0: any width.
std::string table_of(const Grid& grid, const std::string& title, std::size_t width, bool color);

// As a table in Markdown, whose first column is headed `of`.
std::string markdown_of(const Grid& grid, const std::string& of);

// What failed to be measured, or verified: those with the same words together.
struct FailureGroup {
  std::string kind;
  std::string message;  // printable
  std::vector<std::string> keys;
};

// How many were skipped for one reason.
struct SkipGroup {
  std::string reason;  // printable
  std::size_t count = 0;
};

struct Summary {
  std::size_t counted = 0;
  std::size_t timed = 0;
  std::size_t skipped = 0;
  std::size_t failed = 0;
  std::vector<std::string> unsteady;  // of the gated ones: "key: 1,200, then 1,204"
  double seconds = 0;                 // of all measurements
  std::vector<FailureGroup> failures;
  std::size_t verified = 0;
  std::vector<FailureGroup> unverified;  // those whose code is not PASS; its reason is the message
  std::vector<SkipGroup> skips;
};

Summary summarize(const std::vector<Measurement>& measurements);

// "83 counted, 1 of them not steady; 12 skipped; 2 failed; 14.8 s"
std::string summary_line(const Summary& summary, const ReportOptions& options);

}  // namespace instr
