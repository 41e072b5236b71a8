// A comparison as a table for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/base/terminal.h"
#include "core/report/comparison_report.h"
#include "core/report/comparison_text.h"

namespace instr {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kMinKeyWidth = 24;  // else each value has a line for itself
constexpr std::size_t kReasonLines = 3;

// `text` in lines of at most `width` columns; longer words are cut.
std::string indented(const std::string& text, std::size_t indent, std::size_t width,
                     std::size_t max_lines) {
  std::size_t space = width > indent ? width - indent : width;
  std::vector<std::string> lines = wrap(text, space);
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), max_lines); ++i) {
    bool more = i + 1 == max_lines && lines.size() > max_lines;
    std::string line = lines[i] + (more ? " …" : "");
    out += std::string(indent, ' ') + (space == 0 ? line : shorten_end(line, space)) + "\n";
  }
  return out;
}

struct Shown {
  const ComparedRow* row;
  std::vector<CompareLine> lines;
};

std::string reason_text(const ComparedRow& row, std::size_t width) {
  std::string reason = printable(row.reason, true);
  return reason.empty() ? "" : indented(reason, kIndent, width, kReasonLines);
}

Table make_columns(const std::vector<Shown>& rows, std::size_t width, bool show_keys) {
  Table table{.columns = {{.heading = "benchmark", .align = Align::kLeft},
                          {.heading = "before"},
                          {.heading = "after"},
                          {.heading = "change"},
                          {},
                          {.heading = "result", .align = Align::kLeft}},
              .min_name = show_keys ? std::string::npos : kMinKeyWidth};
  for (const Shown& row : rows) {
    for (const CompareLine& line : row.lines) {
      table.lines.push_back({.cells = {{line.name},
                                       {line.before},
                                       {line.after},
                                       {line.change},
                                       {line.relative},
                                       {line.result, line.tone}},
                             .indent = line.is_key ? 0 : kIndent});
    }
    table.lines.push_back({.text = reason_text(*row.row, width)});
  }
  return table;
}

// The key on a line, then its metrics, each on as many lines as needed.
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
    out += reason_text(*row.row, width);
  }
  return out;
}

std::string calls_cell(const AttributionLine& line) {
  return line.calls.empty() ? "" : "calls " + line.calls;
}

}  // namespace

std::string functions_text(const Attribution& attribution, std::size_t width) {
  if (width == 0) width = kPipeWidth;
  std::size_t change = 0;
  std::size_t object = 0;
  std::size_t calls = 0;  // columns; 0: not shown
  for (const AttributionLine& line : attribution_lines(attribution, width)) {
    change = std::max(change, display_width(line.change));
    object = std::max(object, display_width(line.object));
    calls = std::max(calls, display_width(calls_cell(line)));
  }
  object = std::min(object, width / 4);
  const auto with_gap = [](std::size_t columns) { return columns == 0 ? 0 : kGap + columns; };
  std::size_t taken = kIndent + change + kGap + with_gap(object);
  if (taken + with_gap(calls) + kMinKeyWidth > width) calls = 0;
  taken += with_gap(calls);
  const std::size_t function = width > taken ? width - taken : 1;
  Table table{.columns = {{},
                          {.align = Align::kLeft},
                          {.align = Align::kLeft, .min = object},
                          {.align = Align::kLeft}},
              .headings = Headings::kNone};
  for (const AttributionLine& line : attribution_lines(attribution, function)) {
    table.lines.push_back({.cells = {{line.change},
                                     {shorten_end(line.function, function)},
                                     {shorten_middle(line.object, object)},
                                     {calls > 0 ? calls_cell(line) : ""}},
                           .indent = kIndent});
  }
  return *table_text(table, 0, /*color=*/false);
}

namespace {

// The calls that changed, with a heading; empty if none are known.
std::string calls_text(const Attribution& attribution, std::size_t width) {
  constexpr std::size_t kChangeWidth = 12;
  const std::size_t room = width == 0 ? kPipeWidth : std::max(width, 2 * kMinKeyWidth);
  const auto lines = call_lines(attribution, room - kIndent - kChangeWidth);
  if (lines.empty()) return "";
  Table table{.columns = {{}, {.align = Align::kLeft}}, .headings = Headings::kNone};
  for (const CallLine& line : lines) {
    table.lines.push_back({.cells = {{line.change}, {line.text}}, .indent = kIndent});
  }
  return indented("by call, with all that it calls:", kIndent, width, kReasonLines) +
         *table_text(table, 0, /*color=*/false);
}

// The calls and functions in which a row changed, and the lines if they are known.
std::string places_text(const ComparedRow& row, std::size_t width) {
  const Attribution& attribution = *row.attribution;
  std::string text = calls_text(attribution, width);
  const std::string change =
      format_change(attribution.difference) + " " + printable(attribution.metric);
  text += indented(change + ", by function:", kIndent, width, kReasonLines);
  text += functions_text(attribution, width);
  if (!row.lines) return text;
  text += indented(format_change(row.ir_change()) + " instructions, by line:", kIndent, width,
                   kReasonLines);
  return text + lines_text(*row.lines, width);
}

std::string attributions_text(const Comparison& comparison, const CompareTableOptions& options,
                              std::size_t width) {
  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = comparison.not_attributed;
  const auto changes =
      same_changes(comparison, [width](const ComparedRow& row) { return places_text(row, width); });
  for (const SameChange& change : changes) {
    if (shown == options.max_attributions) {
      left_out += change.rows.size();
      continue;
    }
    ++shown;
    out += "\n";
    for (const ComparedRow* row : change.rows) {
      out += styled(printable(row->key), Style::kHeading, options.color) + "\n";
    }
    out += change.text;
  }
  if (left_out == 0) return out;
  return out + "\n" +
         indented("the functions of " + format_plural(left_out, "more row") + " are not shown", 0,
                  width, kReasonLines);
}

}  // namespace

std::string compare_table(const Comparison& comparison, const CompareTableOptions& options) {
  auto width = static_cast<std::size_t>(std::max(options.width, 0));
  std::vector<Shown> rows;
  for (const ComparedRow& row : comparison.rows) {
    const bool is_same = row.state == RowState::kSame && row.verdict == Verdict::kPasses;
    if (!is_same || options.show_same) rows.push_back({&row, compare_lines(row)});
  }
  std::string out;
  if (!rows.empty()) {
    auto wide = table_text(make_columns(rows, width, options.show_keys), width, options.color);
    out += wide ? *wide : narrow_table(rows, width, options.color);
    out += attributions_text(comparison, options, width) + "\n";
  }
  for (const std::string& problem : comparison.problems) {
    out += wrapped(printable(problem), width, Style::kWarning, options.color);
  }
  out += wrapped(comparison_summary_line(comparison.summary), width, {}, options.color);
  const Style style = comparison.verdict == Verdict::kFails   ? Style::kBad
                      : comparison.verdict == Verdict::kWarns ? Style::kWarning
                                                              : Style::kGood;
  return out + wrapped(verdict_line(comparison), width, style, options.color);
}

namespace {

constexpr std::size_t kMaxShownLines = 25;
constexpr std::size_t kCostIndent = 2;

// "quick.cpp:14", "quick.cpp:14 -> 13"
std::string place_text(const LineChange& change) {
  const int before = change.before.line;
  const int after = change.after.line;
  if (after == 0 || before == after) return fmt::format("{}:{}", change.file, before);
  if (before == 0) return fmt::format("{}:{}", change.file, after);
  return fmt::format("{}:{} -> {}", change.file, before, after);
}

TableLine make_line(const LineChange& change, std::size_t width) {
  const auto count = [](const LineSide& side) {
    return side.line == 0 ? "-" : format_count(side.self);
  };
  const bool is_gone = change.after.line == 0;
  const char* mark = is_gone ? "- " : change.before.line == 0 ? "+ " : "  ";
  const LineSide& side = is_gone ? change.before : change.after;
  return {.cells = {{count(change.before)},
                    {count(change.after)},
                    {format_change(change.change())},
                    {shorten_middle(printable(place_text(change)), path_width(width))},
                    {mark + printable(side.text)}}};
}

// Returns the lines that changed most, in their original order.
std::vector<const LineChange*> find_max_changed(const std::vector<LineChange>& lines) {
  std::vector<const LineChange*> shown;
  for (const LineChange& change : lines) shown.push_back(&change);
  if (shown.size() <= kMaxShownLines) return shown;
  std::stable_sort(shown.begin(), shown.end(), [](const auto* left, const auto* right) {
    return std::fabs(left->change()) > std::fabs(right->change());
  });
  shown.resize(kMaxShownLines);
  std::sort(shown.begin(), shown.end(), std::less<>());  // all are in one vector
  return shown;
}

void add_rest(Table& table, double change, const std::string& where) {
  if (change == 0) return;
  table.lines.push_back({.cells = {{}, {}, {format_change(change)}, {where}, {}}});
}

}  // namespace

std::string lines_text(const LineChanges& changes, std::size_t width) {
  Table table{.columns = {{.heading = "before"},
                          {.heading = "after"},
                          {.heading = "change"},
                          {.heading = "line", .align = Align::kLeft},
                          {.heading = "  source", .align = Align::kLeft}},
              .headings = Headings::kPlain};
  const auto shown = find_max_changed(changes.lines);
  double others = 0;
  for (const LineChange& change : changes.lines) others += change.change();
  for (const LineChange* change : shown) {
    table.lines.push_back(make_line(*change, width));
    others -= change->change();
  }
  if (const std::size_t left = changes.lines.size() - shown.size(); left > 0) {
    add_rest(table, others, format_plural(left, "other line"));
  }
  add_rest(table, changes.elsewhere, kNoLineNumbers);
  shorten_last(table, width > kCostIndent ? width - kCostIndent : width);
  std::istringstream lines(*table_text(table, 0, /*color=*/false));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text += std::string(kCostIndent, ' ') + line + "\n";
  }
  return text;
}

}  // namespace instr
