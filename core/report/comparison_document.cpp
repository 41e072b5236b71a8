// A comparison as a document for people: for a terminal, or for a comment on a merge request.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/table.h"
#include "core/definitions/metrics.h"
#include "core/report/comparison_report.h"
#include "core/report/run_table.h"

namespace instr {

namespace {

constexpr std::size_t kMinKeyWidth = 24;  // columns; with fewer, each value has a line for itself
constexpr std::size_t kKeyWidth = 160;
constexpr std::size_t kReasonWidth = 300;

Tone choose_tone(Verdict verdict, RowState state) {
  switch (verdict) {
    case Verdict::kFails: return Tone::kBad;
    case Verdict::kWarns: return Tone::kWarning;
    case Verdict::kGain: return Tone::kGood;
    case Verdict::kPasses: break;
  }
  if (state == RowState::kFaster) return Tone::kGood;
  bool is_plain = state == RowState::kSlower || state == RowState::kNew;
  return is_plain ? Tone::kPlain : Tone::kDim;
}

std::string format_result(const ComparedRow& row) {
  std::string state = to_string(row.state);
  const MetricChange* ir = row.metric(kInstructions);
  if (ir != nullptr && ir->accepted) state += ", accepted";
  return row.verdict == Verdict::kPasses ? state : state + ", " + to_string(row.verdict);
}

std::string format_result(const MetricChange& metric) {
  if (metric.accepted) return "accepted";
  return metric.verdict == Verdict::kPasses ? "" : to_string(metric.verdict);
}

// "2.00x": how many times as fast.
std::string time_change(const MetricChange& metric) {
  if (metric.change() == 0) return "same";
  if (*metric.after <= 0) return "to 0";
  if (metric.speedup) return to_string(*metric.speedup);
  return fmt::format("{:.2f}x", *metric.before / *metric.after);
}

// True if the metric changed, or is missing in one of two counts.
bool is_shown(const ComparedRow& row, const MetricChange& metric) {
  const bool counted_twice = row.state == RowState::kSame || row.state == RowState::kSlower ||
                             row.state == RowState::kFaster ||
                             row.state == RowState::kNotComparable;
  if (!counted_twice) return false;
  return metric.before.has_value() != metric.after.has_value() || metric.change().value_or(0) != 0;
}

DocumentTable make_table(const CompareReportOptions& options = {}) {
  return {.columns = {{.heading = "benchmark", .align = Align::kLeft},
                      {"before"},
                      {"after"},
                      {"change"},
                      {},
                      {.heading = "result", .align = Align::kLeft}},
          .too_wide = TooWide::kNarrow,
          .min_name = kMinKeyWidth,
          .has_keys = options.show_keys};
}

std::vector<DocumentCell> make_cells(const MetricChange& metric) {
  const auto value = [&metric](const std::optional<double>& side) {
    return side ? format_metric(metric.metric, *side) : "";
  };
  std::string change;
  if (const auto difference = metric.change()) {
    change = is_duration(metric.metric) ? time_change(metric) : format_change(*difference);
  }
  return {{printable(metric.metric)},
          {value(metric.before)},
          {value(metric.after)},
          {change},
          {format_relative(metric.relative())},
          {format_result(metric), choose_tone(metric.verdict, RowState::kSlower)}};
}

// "instructions: 1,000, then 1,010, +10 (+1.00%)"
std::string format_cells(const std::vector<DocumentCell>& cells) {
  const auto side = [](const DocumentCell& cell) {
    return cell.text.empty() ? "nothing" : cell.text;
  };
  return cells[0].text + ": " + side(cells[1]) + ", then " + side(cells[2]) +
         (cells[3].text.empty() ? "" : ", " + cells[3].text) +
         (cells[4].text.empty() ? "" : " (" + cells[4].text + ")");
}

}  // namespace

DocumentRow comparison_row(const ComparedRow& row, const RenderOptions& options) {
  DocumentRow made;
  for (const MetricChange& metric : row.metrics) {
    if (!made.cells.empty() && !is_shown(row, metric)) continue;
    std::vector<DocumentCell> cells = make_cells(metric);
    made.narrow += indented(format_cells(cells), options.width);
    if (made.cells.empty()) {
      made.cells = std::move(cells);
    } else {
      made.parts.push_back(std::move(cells));
    }
  }
  made.cells.resize(make_table().columns.size());
  const bool is_usual = row.metrics.empty() || row.metrics.front().metric == kInstructions;
  DocumentCell& name = made.cells.front();
  name.text = printable(row.key) + (is_usual ? "" : " " + name.text);
  DocumentCell& result = made.cells.back();
  result = {format_result(row), choose_tone(row.verdict, row.state)};
  if (!row.reason.empty()) made.lines = indented(printable(row.reason, true), options.width);
  made.narrow = name.text + "\n  " + toned(result.text, result.tone, options.color) + "\n" +
                made.narrow + made.lines;
  return made;
}

namespace {

// Rows whose changes have the same text.
struct SameChange {
  std::string text;
  std::vector<std::string> keys;  // printable
};

// The rows with an attribution, in their order. `text_of`: makes the text of a row's change.
template <class TextOf>
std::vector<SameChange> same_changes(const Comparison& comparison, const TextOf& text_of) {
  std::vector<SameChange> changes;
  std::map<std::string, std::size_t> places;
  for (const ComparedRow& row : comparison.rows) {
    if (!row.attribution) continue;
    const std::string text = text_of(row);
    const auto [place, is_new] = places.try_emplace(text, changes.size());
    if (is_new) changes.push_back({text, {}});
    changes[place->second].keys.push_back(printable(row.key));
  }
  return changes;
}

void add_places(Document& document, const Comparison& comparison,
                const CompareReportOptions& options) {
  const RenderOptions& render = options.render;
  const auto add = [&document](const std::string& text) {
    document.notes.push_back({.kind = DocumentNote::Kind::kText, .text = text});
  };
  std::size_t left_out = comparison.not_attributed;
  for (const SameChange& change : same_changes(comparison, [&render](const ComparedRow& row) {
         return places_text(row, render.width);
       })) {
    if (document.notes.size() == options.max_attributions) {
      left_out += change.keys.size();
      continue;
    }
    std::string keys;
    for (const std::string& key : change.keys) {
      keys += styled(key, Style::kHeading, render.color) + "\n";
    }
    add(keys + change.text);
  }
  if (left_out == 0) return;
  const std::string rows = format_plural(left_out, "more row");
  add(indented("the functions of " + rows + " are not shown", render.width, 0));
}

Style choose_style(Verdict verdict) {
  if (verdict == Verdict::kFails) return Style::kBad;
  return verdict == Verdict::kWarns ? Style::kWarning : Style::kGood;
}

Document terminal_document(const Comparison& comparison, const CompareReportOptions& options) {
  Document document;
  DocumentTable table = make_table(options);
  for (const ComparedRow& row : comparison.rows) {
    const bool is_same = row.state == RowState::kSame && row.verdict == Verdict::kPasses;
    if (is_same && !options.show_same) continue;
    table.rows.push_back(comparison_row(row, options.render));
  }
  if (!table.rows.empty()) {
    document.tables.push_back(std::move(table));
    add_places(document, comparison, options);
  }
  const auto add = [&document](const std::string& text, std::optional<Style> style) {
    document.notes.push_back(
        {.kind = DocumentNote::Kind::kConclusion, .text = text, .style = style});
  };
  for (const std::string& problem : comparison.problems) add(printable(problem), Style::kWarning);
  add(comparison_summary_line(comparison.summary), {});
  add(verdict_line(comparison), choose_style(comparison.verdict));
  return document;
}

std::string reason_item(const ComparedRow& row) {
  const std::string reason = shorten_end(printable(row.reason), kReasonWidth);
  return fmt::format("- {} {}{}\n", comment_code(printable(row.key), kKeyWidth),
                     to_string(row.state), reason.empty() ? "" : ": " + comment_text(reason));
}

std::vector<std::string> places_items(const Comparison& comparison) {
  std::vector<std::string> items;
  for (SameChange& change : same_changes(
           comparison, [](const ComparedRow& row) { return places_markdown(*row.attribution); })) {
    for (std::string& key : change.keys) key = comment_code(key, kKeyWidth);
    items.push_back(fmt::format("\n{}: {}", fmt::join(change.keys, ", "), change.text));
  }
  return items;
}

// Failures come first and may take all the space; each later section leaves some for the next.
Document comment_document(const Comparison& comparison) {
  DocumentSection problems{.items_name = "problems", .share = 4};
  DocumentSection fails{.table = make_table(), .items_name = "rows that fail", .is_vital = true};
  DocumentSection others{
      .table = make_table(), .items_name = "rows that warn or gained", .share = 2};
  const DocumentSection places{.title = "Where the counts changed",
                               .items = places_items(comparison),
                               .items_name = "breakdowns by function",
                               .left_out = comparison.not_attributed,
                               .share = 2};
  DocumentSection reasons{.items_name = "remarks", .share = 2};
  DocumentSection changes{.table = make_table(), .items_name = "changes within the limits"};
  for (const std::string& problem : comparison.problems) {
    problems.items.push_back("\n" + comment_text(shorten_end(printable(problem), kReasonWidth)) +
                             "\n");
  }
  for (const ComparedRow& row : comparison.rows) {
    const bool has_changed = row.state == RowState::kSlower || row.state == RowState::kFaster;
    const bool passes = row.verdict == Verdict::kPasses;
    if (!passes || has_changed) {
      DocumentSection& section = row.verdict == Verdict::kFails ? fails : passes ? changes : others;
      section.table.rows.push_back(comparison_row(row, {}));
    }
    const bool is_explained = has_changed || row.state == RowState::kSame;
    if (!is_explained || !row.reason.empty()) reasons.items.push_back(reason_item(row));
  }
  if (!fails.table.rows.empty()) others.table.headings = Headings::kNone;
  reasons.title = fmt::format("Not compared, new, or with a remark ({})",
                              format_plural(reasons.items.size(), "benchmark"));
  changes.title = fmt::format("Changes within the limits ({})",
                              format_plural(changes.table.rows.size(), "benchmark"));
  return {.notes = {{.kind = DocumentNote::Kind::kConclusion,
                     .text = "**instr_bench: " + verdict_line(comparison) + "**"},
                    {.kind = DocumentNote::Kind::kConclusion,
                     .text = comparison_summary_line(comparison.summary)}},
          .sections = {problems, fails, others, places, reasons, changes}};
}

}  // namespace

Document comparison_document(ReportFormat format, const Comparison& comparison,
                             const CompareReportOptions& options) {
  if (format == ReportFormat::kTable) return terminal_document(comparison, options);
  if (format == ReportFormat::kMarkdown) return comment_document(comparison);
  return comparison_records(comparison);
}

// The calls, functions and lines in which a row changed.

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

// The requests to a device that changed, with a heading; empty if none did.
std::string device_text(const Attribution& attribution, std::size_t width) {
  std::string text;
  for (const std::string& line : device_lines(attribution, kFunctionWidth)) {
    text += indented(line, width, kIndent);
  }
  return text.empty() ? "" : indented("on the device:", width) + text;
}

}  // namespace

std::string places_text(const ComparedRow& row, std::size_t width) {
  const Attribution& attribution = *row.attribution;
  const std::string change =
      format_change(attribution.difference) + " " + printable(attribution.metric);
  std::string text = device_text(attribution, width) + calls_text(attribution, width) +
                     indented(change + ", by function:", width) +
                     functions_text(attribution, width);
  if (!row.lines) return text;
  return text + indented(format_change(row.ir_change()) + " instructions, by line:", width) +
         lines_text(*row.lines, width);
}

std::string places_markdown(const Attribution& attribution) {
  std::string out = fmt::format("{} {}\n\n", format_change(attribution.difference),
                                comment_text(printable(attribution.metric)));
  for (const std::string& line : device_lines(attribution, kFunctionWidth)) {
    out += fmt::format("- {}\n", comment_code(line, 2 * kCallWidth));
  }
  for (const CallLine& line : call_lines(attribution, kCallWidth)) {
    out += fmt::format("- {}: {}\n", line.change, comment_code(line.text, kCallWidth));
  }
  out += attribution.calls.empty() && attribution.device.empty() ? "" : "\n";
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
