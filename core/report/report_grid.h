// The cells that the table and the Markdown report show: measurements of one benchmark side by
// side.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/report/report.h"

namespace instr {

// A value in its metric's unit: "1,234", "1.23 ms".
std::string format_metric(const std::string& metric, double value);

struct GridColumn {
  std::string heading;  // words; "eager fwd+bwd"
  std::string span =
      {};  // a title shared with neighbours that have the same: "instructions", "eager"
};

// For a column on its own: "eager" of instructions, else "wall time eager", "eager allocs".
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
  bool has_keys = false;  // as names: meant to be copied, so never shortened
};

// A row for each benchmark, its variants side by side. Values too many to show for each variant are
// shown for a row's first one, and their column says which.
Grid make_grid(const std::vector<Measurement>& measurements, const ReportOptions& options);

// A row for each variant: for narrow terminals grouped by benchmark, and with --show-keys each in a
// group of its own.
Grid make_tall_grid(const std::vector<Measurement>& measurements, const ReportOptions& options);

// The kind of the tables' values: "instructions", "times" or both.
std::string shown_values(const ReportOptions& options);

// A row for each backend: how many benchmarks it works for, in how many it is the fastest, how much
// faster than eager (geometric mean), how long it takes to start. No columns if fewer than two were
// timed.
Grid make_backend_grid(const std::vector<Measurement>& measurements);

// As text: columns if they fit, else a line per value below the title. 0: any width.
std::string table_of(const Grid& grid, const std::string& title, std::size_t width, bool color);

// Text that reads as it is in a cell or a line of Markdown: what that or HTML would take for its
// own is escaped.
std::string markdown_text(const std::string& text);

// As a table in Markdown, whose first column is headed `of`.
std::string markdown_of(const Grid& grid, const std::string& of);

}  // namespace instr
