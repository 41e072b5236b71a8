#include "core/compare/compare_table.h"

#include <algorithm>
#include <array>

#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/compare/compare_text.h"
#include "core/report/report_grid.h"

namespace instr {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 2;
// Names shortened to less than this tell too little: each value gets its own line instead.
constexpr std::size_t kLeastName = 24;
constexpr std::size_t kReasonLines = 3;
constexpr std::size_t kColumns = 5;  // beside the name
constexpr std::array<const char*, kColumns> kHeadings{"before", "after", "change", "", "result"};

using Cells = std::array<std::string, kColumns>;

Cells cells_of(const CompareLine& line) {
  return {line.before, line.after, line.change, line.relative, line.result};
}

// `text` as lines of at most `width` columns: what does not fit between spaces is cut.
std::string indented(const std::string& text, std::size_t indent, std::size_t width,
                     std::size_t most_lines) {
  std::size_t room = width > indent ? width - indent : width;
  std::vector<std::string> lines = wrap(text, room);
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    bool more = i + 1 == most_lines && lines.size() > most_lines;
    std::string line = lines[i] + (more ? " …" : "");
    out += std::string(indent, ' ') + (room == 0 ? line : shorten_end(line, room)) + "\n";
  }
  return out;
}

struct Shown {
  const ComparedRow* row;
  std::vector<CompareLine> lines;
};

std::vector<Shown> shown_rows(const Comparison& comparison, bool show_same) {
  std::vector<Shown> shown;
  for (const ComparedRow& row : comparison.rows) {
    if (row.state == RowState::kSame && row.verdict == Verdict::kPasses && !show_same) continue;
    shown.push_back({&row, compare_lines(row)});
  }
  return shown;
}

// Columns that the names and the other cells take.
struct Layout {
  std::size_t name = 9;  // "benchmark"
  std::array<std::size_t, kColumns> columns{};

  std::size_t values() const {
    std::size_t sum = 0;
    for (std::size_t width : columns) sum += kGap + width;
    return sum;
  }
};

Layout layout_of(const std::vector<Shown>& rows) {
  Layout layout;
  for (std::size_t i = 0; i < kColumns; ++i) layout.columns[i] = display_width(kHeadings[i]);
  for (const Shown& row : rows) {
    for (const CompareLine& line : row.lines) {
      std::size_t indent = line.is_key ? 0 : kIndent;
      layout.name = std::max(layout.name, indent + display_width(line.name));
      Cells cells = cells_of(line);
      for (std::size_t i = 0; i < kColumns; ++i) {
        layout.columns[i] = std::max(layout.columns[i], display_width(cells[i]));
      }
    }
  }
  return layout;
}

// A line of the table: numbers to the right, the result to the left; no spaces at the end.
std::string table_line(const std::string& name, const Cells& cells, const Layout& layout, Tone tone,
                       bool color) {
  std::string line = pad_right(name, layout.name);
  for (std::size_t i = 0; i + 1 < kColumns; ++i) {
    line += std::string(kGap, ' ') + pad_left(cells[i], layout.columns[i]);
  }
  line += std::string(kGap, ' ');
  if (cells.back().empty()) line.resize(line.find_last_not_of(' ') + 1);
  return line + toned(cells.back(), tone, color) + "\n";
}

std::string wide_table(const std::vector<Shown>& rows, const Layout& layout, std::size_t width,
                       bool color) {
  Cells headings;
  std::copy(kHeadings.begin(), kHeadings.end(), headings.begin());
  std::string out = table_line("benchmark", headings, layout, Tone::kPlain, color);
  std::string rule;
  for (std::size_t i = 0; i < layout.name + layout.values(); ++i) rule += "─";
  out += styled(rule, Style::kDim, color) + "\n";
  for (const Shown& row : rows) {
    for (const CompareLine& line : row.lines) {
      std::size_t indent = line.is_key ? 0 : kIndent;
      std::string name = shorten_middle(line.name, layout.name - indent);
      out += table_line(std::string(indent, ' ') + name, cells_of(line), layout, line.tone, color);
    }
    std::string reason = printable(row.row->reason, true);
    if (!reason.empty()) out += indented(reason, kIndent, width, kReasonLines);
  }
  return out;
}

// For narrow terminals: the key on a line, then its metrics, each on as many lines as it takes.
std::string narrow_table(const std::vector<Shown>& rows, std::size_t width, bool color) {
  std::string out;
  for (const Shown& row : rows) {
    const CompareLine& first = row.lines.front();
    out += first.name + "\n";
    out += std::string(kIndent, ' ') + toned(first.result, first.tone, color) + "\n";
    for (const CompareLine& line : row.lines) {
      if (line.metric.empty()) continue;
      std::string text = line.metric + ": " + (line.before.empty() ? "nothing" : line.before) +
                         ", then " + (line.after.empty() ? "nothing" : line.after);
      if (!line.change.empty()) text += ", " + line.change;
      if (!line.relative.empty()) text += " (" + line.relative + ")";
      out += indented(text, kIndent, width, kReasonLines);
    }
    std::string reason = printable(row.row->reason, true);
    if (!reason.empty()) out += indented(reason, kIndent, width, kReasonLines);
  }
  return out;
}

// Columns that the parts of an attribution take.
struct PartColumns {
  std::size_t change = 0;
  std::size_t function = 0;  // at most
  std::size_t object = 0;
  std::size_t calls = 0;  // 0: they are not shown
};

std::string calls_cell(const AttributionLine& line) {
  return line.calls.empty() ? "" : "calls " + line.calls;
}

PartColumns part_columns(const Attribution& attribution, std::size_t width) {
  constexpr std::size_t kFree = 1000;  // of an unlimited width: names are still readable
  PartColumns columns;
  for (const AttributionLine& line : attribution_lines(attribution, kFree)) {
    columns.change = std::max(columns.change, display_width(line.change));
    columns.object = std::max(columns.object, display_width(line.object));
    columns.calls = std::max(columns.calls, display_width(calls_cell(line)));
  }
  columns.function = kFree;
  if (width == 0) return columns;
  columns.object = std::min(columns.object, width / 4);
  auto with_gap = [](std::size_t column) { return column == 0 ? 0 : kGap + column; };
  std::size_t taken = kIndent + columns.change + kGap + with_gap(columns.object);
  if (taken + with_gap(columns.calls) + kLeastName > width) columns.calls = 0;
  taken += with_gap(columns.calls);
  columns.function = width > taken ? width - taken : 1;
  return columns;
}

// "+80  at::native::dot  libtorch_cpu.so  calls 1 -> 2", the columns aligned.
std::string functions_text(const Attribution& attribution, std::size_t width) {
  const PartColumns columns = part_columns(attribution, width);
  std::vector<AttributionLine> lines = attribution_lines(attribution, columns.function);
  std::size_t functions = 0;
  for (AttributionLine& line : lines) {
    line.function = shorten_end(line.function, columns.function);
    functions = std::max(functions, display_width(line.function));
  }
  const std::string gap(kGap, ' ');
  std::string out;
  for (const AttributionLine& line : lines) {
    std::string text = std::string(kIndent, ' ') + pad_left(line.change, columns.change) + gap +
                       pad_right(line.function, functions) + gap +
                       pad_right(shorten_middle(line.object, columns.object), columns.object);
    if (columns.calls > 0) text += gap + calls_cell(line);
    text.resize(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

std::string attributions_text(const Comparison& comparison, const CompareTableOptions& options,
                              std::size_t width) {
  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = comparison.not_attributed;
  for (const ComparedRow& row : comparison.rows) {
    if (!row.attribution) continue;
    if (shown == options.most_attributions) {
      ++left_out;
      continue;
    }
    ++shown;
    std::string change =
        format_change(row.attribution->difference) + " " + heading_of(row.attribution->metric);
    out += "\n" + styled(printable(row.key), Style::kHeading, options.color) + "\n";
    out += indented(change + ", by function:", kIndent, width, kReasonLines);
    out += functions_text(*row.attribution, width);
  }
  if (left_out == 0) return out;
  return out + "\n" +
         indented("the functions of " + format_plural(left_out, "more row") + " are not shown", 0,
                  width, kReasonLines);
}

}  // namespace

std::string compare_table(const Comparison& comparison, const CompareTableOptions& options) {
  auto width = static_cast<std::size_t>(std::max(options.width, 0));
  std::vector<Shown> rows = shown_rows(comparison, options.show_same);
  std::string out;
  if (!rows.empty()) {
    Layout layout = layout_of(rows);
    std::size_t values = layout.values();
    std::size_t least_name = options.show_keys ? layout.name : std::min(layout.name, kLeastName);
    bool fits = width == 0 || values + least_name <= width;
    if (width > 0 && fits) layout.name = std::min(layout.name, width - values);
    out += fits ? wide_table(rows, layout, width, options.color)
                : narrow_table(rows, width, options.color);
    out += attributions_text(comparison, options, width) + "\n";
  }
  for (const std::string& problem : comparison.problems) {
    for (const std::string& line : wrap(printable(problem), width)) {
      out += styled(line, Style::kWarning, options.color) + "\n";
    }
  }
  for (const std::string& line : wrap(comparison_summary_line(comparison.summary), width)) {
    out += line + "\n";
  }
  Style style = comparison.verdict == Verdict::kFails   ? Style::kBad
                : comparison.verdict == Verdict::kWarns ? Style::kWarning
                                                        : Style::kGood;
  for (const std::string& line : wrap(verdict_line(comparison), width)) {
    out += styled(line, style, options.color) + "\n";
  }
  return out;
}

}  // namespace instr
