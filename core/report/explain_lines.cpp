#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/table.h"
#include "core/base/version.h"
#include "core/report/explain.h"
#include "core/report/report_grid.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLinesSchema = 1;
constexpr const char* kUnknownLine = "-";

// One row of the table; numbers are those of a line, or of what is left.
struct Row {
  std::vector<std::string> numbers;  // self, share, inclusive, share
  std::string place;
  std::string source = {};
};

constexpr const char* kHeadings[] = {"self", "share", "inclusive", "share"};

std::string place_of(const LineCost& line) { return fmt::format("{}:{}", line.file, line.line); }

std::vector<const LineCost*> in_order(const LineCosts& costs, ExplainOrder order) {
  const auto cost = [order](const LineCost* line) {
    return order == ExplainOrder::kSelf ? line->self : line->inclusive.value_or(line->self);
  };
  std::vector<const LineCost*> lines;
  for (const LineCost& line : costs.lines) lines.push_back(&line);
  std::stable_sort(lines.begin(), lines.end(), [&cost](const auto* left, const auto* right) {
    return cost(left) > cost(right);
  });
  return lines;
}

std::vector<Row> rows_of(double total, const LineCosts& costs, const ExplainOptions& options) {
  const auto share = [total](double part) { return share_text(part, total); };
  const auto lines = in_order(costs, options.order);
  const std::size_t shown = std::min(options.max_functions, lines.size());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const double self = costs.per_iteration(lines[i]->self);
    Row row{
        {format_count(self), share(self), kUnknownLine, ""}, place_of(*lines[i]), lines[i]->text};
    if (lines[i]->inclusive) {
      const double inclusive = costs.per_iteration(*lines[i]->inclusive);
      row.numbers[2] = format_count(inclusive);
      row.numbers[3] = share(inclusive);
    }
    rows.push_back(std::move(row));
  }
  double others = 0, rest = total;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double self = costs.per_iteration(lines[i]->self);
    rest -= self;
    if (i >= shown) others += self;
  }
  if (shown < lines.size()) {
    rows.push_back({{format_count(others), share(others), "", ""},
                    format_plural(lines.size() - shown, "other line")});
  }
  if (rest != 0) {
    rows.push_back({{format_count(rest), share(rest), "", ""}, kNoLineNumbers});
  }
  return rows;
}

std::string as_table(const std::string& key, double total, const LineCosts& costs,
                     const ExplainOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(options.width, 0));
  Table table{.columns = {}, .headings = Headings::kStyled};
  for (const char* heading : kHeadings) table.columns.push_back({.heading = heading});
  table.columns.push_back({.heading = "line", .align = Align::kLeft});
  table.columns.push_back({.heading = "source", .align = Align::kLeft});
  for (const Row& row : rows_of(total, costs, options)) {
    TableLine& line = table.lines.emplace_back();
    for (const std::string& number : row.numbers) line.cells.push_back({number});
    line.cells.push_back({shorten_middle(printable(row.place), path_width(width))});
    line.cells.push_back({printable(row.source)});
  }
  shorten_last(table, width);
  std::string out;
  for (const std::string& line : wrap(explanation_title(key, total), width)) out += line + "\n";
  return out + "\n" + *table_text(table, 0, options.color);
}

std::string as_markdown(const std::string& key, double total, const LineCosts& costs,
                        const ExplainOptions& options) {
  Grid grid;
  for (const char* heading : kHeadings) grid.columns.push_back({heading});
  grid.columns.push_back({"source"});
  for (const Row& row : rows_of(total, costs, options)) {
    GridRow line{printable(row.place), printable(row.place), {}};
    for (const std::string& number : row.numbers) line.cells.push_back({number});
    line.cells.push_back({printable(row.source)});
    grid.groups.push_back({line.name, {line}});
  }
  return markdown_text(explanation_title(key, total)) + "\n\n" + markdown_of(grid, "line");
}

Json inclusive_json(const LineCost& line, const LineCosts& costs) {
  return line.inclusive ? json_number(costs.per_iteration(*line.inclusive)) : nullptr;
}

std::string as_json(const std::string& key, double total, const LineCosts& costs,
                    const ExplainOptions&) {
  Json json{{"schema", kLinesSchema},
            {"program", "instr_bench"},
            {"version", kProgramVersion},
            {"kind", "lines"},
            {"key", key},
            {kInstructions, json_number(total)},
            {"iterations", costs.iterations},
            {"lines", Json::array()}};
  for (const LineCost& line : costs.lines) {
    json["lines"].push_back({{"file", line.file},
                             {"line", line.line},
                             {"self", json_number(costs.per_iteration(line.self))},
                             {"inclusive", inclusive_json(line, costs)},
                             {"text", line.text}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_csv(const std::string&, double, const LineCosts& costs, const ExplainOptions&) {
  std::string out = csv_line({"file", "line", "self", "inclusive", "text"});
  for (const LineCost& line : costs.lines) {
    const Json inclusive = inclusive_json(line, costs);
    out += csv_line({line.file, std::to_string(line.line),
                     to_line(json_number(costs.per_iteration(line.self))),
                     inclusive.is_null() ? "" : to_line(inclusive), line.text});
  }
  return out;
}

using LinesFormatter = std::string (*)(const std::string&, double, const LineCosts&,
                                       const ExplainOptions&);
constexpr std::pair<ReportFormat, LinesFormatter> kLinesFormatters[] = {
    {ReportFormat::kTable, as_table},
    {ReportFormat::kMarkdown, as_markdown},
    {ReportFormat::kJson, as_json},
    {ReportFormat::kCsv, as_csv}};

}  // namespace

std::string lines_report(ReportFormat format, const std::string& key, double total,
                         const LineCosts& costs, const ExplainOptions& options) {
  const auto* text = std::find_if(std::begin(kLinesFormatters), std::end(kLinesFormatters),
                                  [format](const auto& one) { return one.first == format; });
  return text->second(key, total, costs, options);
}

}  // namespace instr
