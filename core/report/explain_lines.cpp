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

// A row of the table: a line, or the rest.
struct Row {
  std::vector<std::string> numbers;  // self, share, inclusive, share
  std::string place;
  std::string source = {};
};

constexpr const char* kHeadings[] = {"self", "share", "inclusive", "share"};

std::string format_place(const LineCost& line) {
  return fmt::format("{}:{}", line.file, line.line);
}

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

std::vector<Row> make_rows(double total, const LineCosts& costs, const ExplainOptions& options) {
  const auto share = [total](double part) { return share_text(part, total); };
  const auto lines = in_order(costs, options.order);
  const std::size_t shown = std::min(options.max_functions, lines.size());
  std::vector<Row> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const double self = costs.per_iteration(lines[i]->self);
    Row row{{format_count(self), share(self), kUnknownLine, ""},
            format_place(*lines[i]),
            lines[i]->text};
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

DocumentTable make_table(double total, const LineCosts& costs, const ExplainOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(options.width, 0));
  DocumentTable table{.columns = {},
                      .name_column = std::size(kHeadings),
                      .headings = Headings::kStyled,
                      .shortens_last = true};
  for (const char* heading : kHeadings) table.columns.push_back({heading});
  table.columns.push_back({.heading = "line", .align = Align::kLeft});
  table.columns.push_back({.heading = "source", .align = Align::kLeft});
  for (const Row& row : make_rows(total, costs, options)) {
    DocumentRow& made = table.rows.emplace_back();
    for (const std::string& number : row.numbers) made.cells.push_back({number});
    made.cells.push_back({shorten_middle(printable(row.place), path_width(width))});
    made.cells.push_back({printable(row.source)});
  }
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
