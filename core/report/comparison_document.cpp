// A comparison as a document for people: for a terminal, or for a comment on a merge request.
#include <fmt/format.h>

#include <map>

#include "core/base/format.h"
#include "core/definitions/metrics.h"
#include "core/report/comparison_report.h"
#include "core/report/report_tables.h"

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

}  // namespace instr
