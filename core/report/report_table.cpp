// The table for people: columns if the terminal is wide enough, one value a line if it is
// not.
#include <algorithm>
#include <optional>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/report/report_grid.h"
#include "core/report/report_summary.h"

namespace instr {

namespace {

constexpr std::size_t kRowIndent = 2;
// Beyond this the numbers are too far from their names.
constexpr std::size_t kStackedWidth = 44;
constexpr std::size_t kUnsteadyLines = 20;
// The rest is in the results file.
constexpr std::size_t kMessageLines = 40;
constexpr std::size_t kAnyWidth = static_cast<std::size_t>(-1);

std::string spaces(std::size_t count) { return std::string(count, ' '); }

// A group of one row is one line with its full name, if that takes at most `flat_limit` columns;
// others are a heading and indented rows.
bool is_flat(const GridGroup& group, std::size_t flat_limit) {
  return group.rows.size() == 1 && display_width(group.rows[0].full_name) <= flat_limit;
}

// The first word of a heading of several words has a line of its own.
TableColumn column_of(const GridColumn& column) {
  TableColumn made{.heading = column.heading, .span = column.span};
  if (auto space = made.heading.find(' '); space != std::string::npos) made.heading[space] = '\n';
  return made;
}

TableLine line_of(const GridRow& row, bool flat) {
  TableLine line{.cells = {{flat ? row.full_name : row.name}}, .indent = flat ? 0 : kRowIndent};
  line.cells.insert(line.cells.end(), row.cells.begin(), row.cells.end());
  return line;
}

// `width`: of the terminal, for the groups' names.
Table columns_of(const Grid& grid, std::size_t width, bool color,
                 std::size_t flat_limit = kAnyWidth) {
  Table table;
  table.columns.push_back({.align = Align::kLeft});
  for (const GridColumn& column : grid.columns) table.columns.push_back(column_of(column));
  bool after_headed = false;
  for (const GridGroup& group : grid.groups) {
    bool flat = is_flat(group, flat_limit);
    std::string between = !table.lines.empty() && (after_headed || !flat) ? "\n" : "";
    after_headed = !flat;
    if (!flat) {
      const bool is_whole = width == 0 || grid.has_keys;
      std::string name = is_whole ? group.name : shorten_middle(group.name, width);
      between += styled(name, Style::kHeading, color) + "\n";
    }
    table.lines.push_back({.text = between});
    for (const GridRow& row : group.rows) table.lines.push_back(line_of(row, flat));
  }
  return table;
}

void drop_last_column(Grid& grid) {
  grid.columns.pop_back();
  for (GridGroup& group : grid.groups) {
    for (GridRow& row : group.rows) row.cells.pop_back();
  }
}

std::string right_aligned(const TableCell& cell, std::size_t columns, bool color) {
  std::size_t width = display_width(cell.text);
  return spaces(columns - std::min(columns, width)) + toned(cell.text, cell.tone, color) + "\n";
}

// A value on the line of its name; below it if both do not fit.
void stacked_value(std::string& out, const std::string& heading, const TableCell& cell,
                   std::size_t width, bool color) {
  if (cell.text.empty()) return;
  std::size_t named = kRowIndent + display_width(heading);
  if (named + 1 + display_width(cell.text) <= width) {
    out += spaces(kRowIndent) + heading + right_aligned(cell, width - named, color);
    return;
  }
  std::string name = shorten_end(heading, width > kRowIndent ? width - kRowIndent : width);
  out +=
      spaces(width > kRowIndent ? kRowIndent : 0) + name + "\n" + right_aligned(cell, width, color);
}

std::string stacked_table(const Grid& grid, const std::string& title, std::size_t width,
                          bool color) {
  std::string out;
  for (const std::string& line : wrap(title, width)) {
    out += styled(line, Style::kDim, color) + "\n";
  }
  std::size_t used = std::min(width, kStackedWidth);
  for (const GridGroup& group : grid.groups) {
    for (const GridRow& row : group.rows) {
      std::string name = grid.has_keys ? row.full_name : shorten_middle(row.full_name, width);
      out += "\n" + styled(name, Style::kHeading, color) + "\n";
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        stacked_value(out, full_heading(grid.columns[i]), row.cells[i], used, color);
      }
    }
  }
  return out;
}

// `text` in lines of at most `width` columns, all indented.
std::string message_lines(const std::string& text, std::size_t indent, std::size_t width,
                          std::size_t max_lines) {
  std::size_t space = width > indent ? width - indent : 0;
  std::vector<std::string> lines = wrap(text, space);
  std::size_t shown = lines.size() > max_lines ? max_lines - 1 : lines.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out += lines[i].empty() ? "\n" : spaces(indent) + lines[i] + "\n";
  }
  if (shown < lines.size()) {
    out += spaces(indent) + "(and " + format_plural(lines.size() - shown, "more line") + ")\n";
  }
  return out;
}

std::string failures_text(const std::vector<FailureGroup>& failures, std::size_t width,
                          bool color) {
  std::string out;
  for (const FailureGroup& failure : failures) {
    out += "\n";
    for (std::size_t i = 0; i < failure.keys.size(); ++i) {
      // Keys are never shortened: they are meant to be copied into a filter.
      out += failure.keys[i] + (i + 1 < failure.keys.size() ? "\n" : ": ");
    }
    out += styled(failure.kind, Style::kBad, color) + "\n";
    if (!failure.message.empty()) out += message_lines(failure.message, 4, width, kMessageLines);
  }
  return out;
}

std::string skips_text(const Summary& summary, std::size_t width) {
  std::string out = summary.skips.empty() ? "" : "\n";
  for (const SkipGroup& skip : summary.skips) {
    std::string reason = skip.reason.empty() ? "no reason was given" : skip.reason;
    std::string line = format_count(static_cast<double>(skip.count)) + " skipped: " + reason;
    out += message_lines(line, 0, width, kMessageLines);
  }
  return out;
}

std::optional<std::string> wide_table(const Grid& grid, std::size_t width, bool color) {
  return table_text(columns_of(grid, width, color), width, color);
}

// Rows for each variant, in at most `width` columns; nothing if that is too narrow.
std::optional<std::string> tall_table(const Grid& grid, std::size_t width, bool color) {
  const Table any = columns_of(grid, width, color);
  const std::size_t values = make_layout(any).beside_first();
  const std::size_t left = width > values ? width - values : 0;
  const bool has_all = width == 0 || make_layout(any).total() <= width;
  const std::size_t flat_limit = has_all ? kAnyWidth : grid.has_keys ? 0 : left;
  return table_text(columns_of(grid, width, color, flat_limit), width, color);
}

// The text of the first layout that fits.
std::string grid_text(const std::vector<Measurement>& measurements, const ReportOptions& options,
                      std::size_t width) {
  Grid grid = make_grid(measurements, options);
  if (!options.show_keys) {
    if (auto text = wide_table(grid, width, options.color)) return *text;
    // The marks at the values already say what the last column does.
    drop_last_column(grid);
    if (auto text = wide_table(grid, width, options.color)) return *text;
  }
  Grid tall = make_tall_grid(measurements, options);
  if (auto text = tall_table(tall, width, options.color)) return *text;
  drop_last_column(tall);
  if (auto text = tall_table(tall, width, options.color)) return *text;
  return stacked_table(options.show_keys ? tall : grid,
                       shown_values(options) + " per iteration, by variant:", width, options.color);
}

// The summary of a run by backend.
std::string backends_text(const std::vector<Measurement>& measurements, std::size_t width,
                          bool color) {
  Grid grid = make_backend_grid(measurements);
  return grid.columns.empty() ? "" : "\n" + table_of(grid, "by backend:", width, color);
}

std::string dim_lines(const std::string& text, std::size_t width, bool color) {
  std::string out;
  for (const std::string& line : wrap(text, width)) {
    out += styled(line, Style::kDim, color) + "\n";
  }
  return out;
}

std::string notes_text(const std::vector<std::string>& footnotes, const Summary& summary,
                       std::size_t width, bool color) {
  std::string out = footnotes.empty() ? "" : "\n";
  for (const std::string& note : footnotes) out += dim_lines(note, width, color);
  const auto& unsteady = summary.unsteady;
  if (!unsteady.empty()) out += "\n";
  std::size_t shown = std::min(unsteady.size(), kUnsteadyLines);
  for (std::size_t i = 0; i < shown; ++i) {
    out += message_lines("not steady: " + unsteady[i], 0, width, kMessageLines);
  }
  if (shown < unsteady.size()) {
    out += "not steady: " + format_count(static_cast<double>(unsteady.size() - shown)) + " more\n";
  }
  return out;
}

}  // namespace

std::string table_of(const Grid& grid, const std::string& title, std::size_t width, bool color) {
  if (auto text = wide_table(grid, width, color)) return *text;
  return stacked_table(grid, title, width, color);
}

std::string report_table(const std::vector<Measurement>& measurements,
                         const ReportOptions& options) {
  if (measurements.empty()) return "nothing was measured\n";
  auto width = static_cast<std::size_t>(std::max(options.width, 0));
  Summary summary = summarize(measurements);
  std::string out = grid_text(measurements, options, width);
  out += backends_text(measurements, width, options.color);
  out += notes_text(make_grid(measurements, options).footnotes, summary, width, options.color);
  out += failures_text(summary.failures, width, options.color);
  out +=
      failures_text(summary.unverified, width, options.color) + skips_text(summary, width) + "\n";
  Style style = summary.failed > 0 ? Style::kBad : Style::kHeading;
  for (const std::string& line : wrap(summary_line(summary, options), width)) {
    out += styled(line, style, options.color) + "\n";
  }
  return out;
}

}  // namespace instr
