// The calls, functions and lines in which a row changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/base/terminal.h"
#include "core/report/comparison_report.h"

namespace instr {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kMinFunctionWidth = 24;
constexpr std::size_t kMaxLines = 3;
constexpr std::size_t kFunctionWidth = 100;  // columns of Markdown; longer names are shortened
constexpr std::size_t kCallWidth = 160;

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
  if (taken + with_gap(calls) + kMinFunctionWidth > width) calls = 0;
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
  return table_text(table, /*color=*/false);
}

std::string indented(const std::string& text, std::size_t width, std::size_t indent) {
  const std::size_t space = width > indent ? width - indent : width;
  std::vector<std::string> lines = wrap(text, space);
  if (lines.size() > kMaxLines) {
    lines.resize(kMaxLines);
    lines.back() += " …";
  }
  std::string out;
  for (const std::string& line : lines) {
    out += std::string(indent, ' ') + (space == 0 ? line : shorten_end(line, space)) + "\n";
  }
  return out;
}

namespace {

// The calls that changed, with a heading; empty if none are known.
std::string calls_text(const Attribution& attribution, std::size_t width) {
  constexpr std::size_t kChangeWidth = 12;
  const std::size_t room = width == 0 ? kPipeWidth : std::max(width, 2 * kMinFunctionWidth);
  Table table{.columns = {{}, {.align = Align::kLeft}}, .headings = Headings::kNone};
  for (const CallLine& line : call_lines(attribution, room - kIndent - kChangeWidth)) {
    table.lines.push_back({.cells = {{line.change}, {line.text}}, .indent = kIndent});
  }
  if (table.lines.empty()) return "";
  return indented("by call, with all that it calls:", width) + table_text(table, /*color=*/false);
}

}  // namespace

std::string places_text(const ComparedRow& row, std::size_t width) {
  const Attribution& attribution = *row.attribution;
  const std::string change =
      format_change(attribution.difference) + " " + printable(attribution.metric);
  std::string text = calls_text(attribution, width) + indented(change + ", by function:", width) +
                     functions_text(attribution, width);
  if (!row.lines) return text;
  return text + indented(format_change(row.ir_change()) + " instructions, by line:", width) +
         lines_text(*row.lines, width);
}

std::string places_markdown(const Attribution& attribution) {
  std::string out = fmt::format("{} {}\n\n", format_change(attribution.difference),
                                comment_text(printable(attribution.metric)));
  for (const CallLine& line : call_lines(attribution, kCallWidth)) {
    out += fmt::format("- {}: {}\n", line.change, comment_code(line.text, kCallWidth));
  }
  out += attribution.calls.empty() ? "" : "\n";
  out += "| change | function | library | calls |\n|---:|:---|:---|---:|\n";
  for (const AttributionLine& line : attribution_lines(attribution, kFunctionWidth)) {
    out += fmt::format(
        "| {} | {} | {} | {} |\n", line.change, comment_code(line.function, kFunctionWidth + 20),
        comment_text(shorten_middle(line.object, kCallWidth)), comment_text(line.calls));
  }
  return out;
}

namespace {

constexpr std::size_t kMaxShownLines = 25;

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
                    {mark + printable(side.text)}},
          .indent = kIndent};
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
  constexpr std::size_t kMinBefore = kIndent + std::string_view("before").size();
  Table table{.columns = {{.heading = "before", .min = kMinBefore},
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
  shorten_last(table, width);
  return table_text(table, /*color=*/false);
}

}  // namespace instr
