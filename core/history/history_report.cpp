#include "core/history/history_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/format.h"
#include "core/base/json_line.h"
#include "core/compare/compare_report.h"
#include "core/compare/compare_text.h"
#include "core/history/step_functions.h"
#include "core/report/report_grid.h"
#include "core/results/results.h"

namespace instr {

namespace {

constexpr std::size_t kMaxSubjectWidth = 50;
constexpr bool kSpare = true;

ListingCell text_cell(const std::string& text, const std::string& shown = "") {
  return {.value = text, .shown = shown, .is_text = true};
}

ListingCell number_cell(double number, const std::string& shown = "", Tone tone = Tone::kPlain) {
  return {std::isfinite(number) ? to_line(json_number(number)) : "", shown, tone};
}

ListingCell id_cell(std::int64_t id) { return {std::to_string(id)}; }

ListingCell count_cell(std::size_t count) {
  return {std::to_string(count), format_count(static_cast<double>(count))};
}

ListingCell value_cell(const std::string& metric, const std::optional<double>& value) {
  if (!value) return {};
  return number_cell(*value, format_metric(metric, *value));
}

ListingCell commit_cell(const Commit& commit) {
  return text_cell(commit.hash, printable(short_hash(commit.hash)));
}

ListingCell date_cell(const Commit& commit) { return text_cell(date_text(commit.authored)); }

ListingCell subject_cell(const Commit& commit) {
  return text_cell(commit.subject, shorten_end(printable(commit.subject), kMaxSubjectWidth));
}

ListingCell metric_cell(const HistorySeries& series) {
  return text_cell(series.metric, heading_of(series.metric));
}

ListingCell change_cell(const RecordedStep& step) {
  if (!step.before) return {};
  const double change = step.after - *step.before;
  return number_cell(change, format_change(change), change > 0 ? Tone::kBad : Tone::kGood);
}

ListingCell percent_cell(const RecordedStep& step) {
  if (!step.before) return {};
  const double change = step.after - *step.before;
  const double relative = change / std::fabs(*step.before);
  return number_cell(100 * relative, format_relative(relative));
}

ListingCell chance_cell(const RecordedStep& step) {
  if (!step.p) return {};
  return {to_line(*step.p), fmt::format("{:.2g}", *step.p)};
}

ListingRow row_of(const RecordedStep& step) {
  const HistorySeries& series = step.series;
  return {.cells = {text_cell(series.key), metric_cell(series),
                    value_cell(series.metric, step.before), value_cell(series.metric, step.after),
                    change_cell(step), percent_cell(step), chance_cell(step),
                    commit_cell(step.commit), date_cell(step.commit), text_cell(series.branch),
                    subject_cell(step.commit), id_cell(series.class_id)}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Listing series_listing(const std::vector<SeriesSummary>& series) {
  Listing listing{.columns = {{"key", "benchmark"},
                              {"metric", "metric"},
                              {"measured", "measured", Align::kRight},
                              {"steps", "steps", Align::kRight},
                              {"value", "value", Align::kRight},
                              {"commit", "at commit"},
                              {"date", "of", Align::kLeft, kSpare},
                              {"branch", "branch", Align::kLeft, kSpare},
                              {"class", nullptr}}};
  for (const SeriesSummary& one : series) {
    listing.rows.push_back(
        {.cells = {text_cell(one.series.key), metric_cell(one.series), count_cell(one.measured),
                   one.series.is_exact ? count_cell(one.steps) : ListingCell{},
                   value_cell(one.series.metric, one.value), commit_cell(one.last),
                   date_cell(one.last), text_cell(one.series.branch),
                   id_cell(one.series.class_id)}});
  }
  return listing;
}

Expected<Listing> steps_listing(const SqlDatabase& database, const std::vector<RecordedStep>& steps,
                                const StepsShowing& showing) {
  return sql_stage([&] {
    const bool is_any_sampled = std::any_of(
        steps.begin(), steps.end(), [](const RecordedStep& one) { return one.p.has_value(); });
    Listing listing{.columns = {{"key", "benchmark"},
                                {"metric", "metric"},
                                {"before", "before", Align::kRight},
                                {"after", "after", Align::kRight},
                                {"change", "change", Align::kRight},
                                {"percent", "", Align::kRight},
                                {"p", is_any_sampled ? "p" : nullptr, Align::kRight},
                                {"commit", "commit"},
                                {"date", "of", Align::kLeft, kSpare},
                                {"branch", "branch", Align::kLeft, kSpare},
                                {"subject", "subject", Align::kLeft, kSpare},
                                {"class", nullptr}},
                    .more_name = "attribution"};
    StepFunctions functions(database);
    std::size_t shown = 0;
    for (const RecordedStep& step : steps) {
      ListingRow row = row_of(step);
      const auto attribution = showing.with_functions ? functions.of(step) : std::nullopt;
      if (attribution) row.more = to_line(attribution_json(*attribution));
      if (attribution && ++shown <= showing.most_functions) {
        row.lines = lines_of(functions_text(*attribution, showing.width));
      }
      listing.rows.push_back(std::move(row));
    }
    return listing;
  });
}

Listing points_listing() {
  return {.columns = {{"key", "benchmark"},
                      {"metric", "metric"},
                      {"branch", "branch"},
                      {"class", nullptr},
                      {"commit", "commit"},
                      {"position", nullptr},
                      {"date", "of"},
                      {"value", "value", Align::kRight},
                      {"repetitions", nullptr}}};
}

Listing points_listing(const HistoryPoint& point) {
  Listing listing = points_listing();
  const auto repetitions = parse_json(point.repetitions);
  listing.rows.push_back({.cells = {text_cell(point.series.key),
                                    metric_cell(point.series),
                                    text_cell(point.series.branch),
                                    id_cell(point.series.class_id),
                                    commit_cell(point.commit),
                                    id_cell(point.commit.position),
                                    date_cell(point.commit),
                                    value_cell(point.series.metric, point.value),
                                    {repetitions ? to_line(*repetitions) : ""}}});
  return listing;
}

std::vector<std::string> break_lines(const std::vector<SeriesBreak>& breaks) {
  std::vector<std::string> lines;
  for (const SeriesBreak& one : breaks) {
    lines.push_back(fmt::format(
        "{}, at {} ({}): measured differently from here, so {} begin{}:", printable(one.branch),
        short_hash(one.commit.hash), date_text(one.commit.authored),
        format_plural(one.series, "other series"), one.series == 1 ? "s" : ""));
    for (const std::string& line : lines_of(one.differences, FieldClass::kMustMatch)) {
      lines.push_back("  " + line);
    }
  }
  return lines;
}

}  // namespace instr
