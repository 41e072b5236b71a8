#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/base/version.h"
#include "core/report/explain.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLinesSchema = 1;
constexpr const char* kUnknownLine = "-";

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

DocumentTable make_table(double total, const LineCosts& costs, const ExplainOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(options.width, 0));
  DocumentTable table{.columns = {{"self"},
                                  {"share"},
                                  {"inclusive"},
                                  {"share"},
                                  {.heading = "line", .align = Align::kLeft},
                                  {.heading = "source", .align = Align::kLeft}},
                      .name_column = 4,
                      .headings = Headings::kStyled,
                      .shortens_last = true};
  const auto add = [&](double self, const std::string& place, const char* inclusive = "") {
    table.rows.push_back({.cells = {{format_count(self)},
                                    {share_text(self, total)},
                                    {inclusive},
                                    {},
                                    {shorten_middle(printable(place), path_width(width))},
                                    {}}});
  };
  const auto lines = in_order(costs, options.order);
  const std::size_t shown = std::min(options.max_functions, lines.size());
  double others = 0;
  double rest = total;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LineCost& line = *lines[i];
    const double self = costs.per_iteration(line.self);
    rest -= self;
    if (i >= shown) {
      others += self;
      continue;
    }
    add(self, fmt::format("{}:{}", line.file, line.line), kUnknownLine);
    std::vector<DocumentCell>& cells = table.rows.back().cells;
    cells.back().text = printable(line.text);
    if (!line.inclusive) continue;
    const double inclusive = costs.per_iteration(*line.inclusive);
    cells[2].text = format_count(inclusive);
    cells[3].text = share_text(inclusive, total);
  }
  if (shown < lines.size()) add(others, format_plural(lines.size() - shown, "other line"));
  if (rest != 0) add(rest, kNoLineNumbers);
  return table;
}

DocumentRecord make_record(const LineCost& line, const LineCosts& costs) {
  const Json self = json_number(costs.per_iteration(line.self));
  const Json inclusive =
      line.inclusive ? json_number(costs.per_iteration(*line.inclusive)) : nullptr;
  return {to_line({{"file", line.file},
                   {"line", line.line},
                   {"self", self},
                   {"inclusive", inclusive},
                   {"text", line.text}}),
          {{line.file, std::to_string(line.line), to_line(self),
            inclusive.is_null() ? "" : to_line(inclusive), line.text}}};
}

}  // namespace

Document lines_document(const std::string& key, double total, const LineCosts& costs,
                        const ExplainOptions& options) {
  Document document{.title = explanation_title(key, total),
                    .tables = {make_table(total, costs, options)}};
  document.head = to_line({{"schema", kLinesSchema},
                           {"program", "instr_bench"},
                           {"version", kProgramVersion},
                           {"kind", "lines"},
                           {"key", key},
                           {kInstructions, json_number(total)},
                           {"iterations", costs.iterations}});
  document.list_name = "lines";
  document.fields = {"file", "line", "self", "inclusive", "text"};
  for (const LineCost& line : costs.lines) document.records.push_back(make_record(line, costs));
  return document;
}

}  // namespace instr
