// The source lines of a comparison, as a diff in which each line has its costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "core/base/format.h"
#include "core/compare/compare_table.h"
#include "core/compare/compare_text.h"
#include "core/report/table.h"

namespace instr {

namespace {

constexpr std::size_t kMostLines = 25;
constexpr std::size_t kCostIndent = 2;

// "quick.cpp:14", "quick.cpp:14 -> 13"
std::string place_text(const LineChange& change) {
  const int before = change.before.line;
  const int after = change.after.line;
  if (after == 0 || before == after) return fmt::format("{}:{}", change.file, before);
  if (before == 0) return fmt::format("{}:{}", change.file, after);
  return fmt::format("{}:{} -> {}", change.file, before, after);
}

TableLine line_of(const LineChange& change, std::size_t width) {
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

// Those that changed most, in their order.
std::vector<const LineChange*> most_changed(const std::vector<LineChange>& lines) {
  std::vector<const LineChange*> shown;
  for (const LineChange& one : lines) shown.push_back(&one);
  if (shown.size() <= kMostLines) return shown;
  std::stable_sort(shown.begin(), shown.end(), [](const auto* left, const auto* right) {
    return std::fabs(left->change()) > std::fabs(right->change());
  });
  shown.resize(kMostLines);
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
  const auto shown = most_changed(changes.lines);
  double others = 0;
  for (const LineChange& one : changes.lines) others += one.change();
  for (const LineChange* one : shown) {
    table.lines.push_back(line_of(*one, width));
    others -= one->change();
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
