#include "core/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/base/version.h"
#include "core/report/report_grid.h"
#include "core/report/table.h"
#include "core/results/results.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kExplanationSchema = 1;

// Code without symbols has an address for a name: all of a library's is one function.
std::map<CodeName, ExplainedFunction> merged(const std::vector<FunctionCost>& functions) {
  std::map<CodeName, ExplainedFunction> sums;
  for (const FunctionCost& one : functions) {
    CodeName code = code_name(one.function, one.object);
    ExplainedFunction& sum = sums[code];
    sum.code = std::move(code);
    sum.self += one.ir;
    sum.calls += one.calls;
  }
  return sums;
}

Explanation without_functions(const std::string& key, const Counted& counted) {
  Explanation explanation;
  explanation.key = key;
  explanation.iterations = counted.iterations;
  if (auto found = counted.metrics.find(kInstructions); found != counted.metrics.end()) {
    explanation.total = found->second;
  }
  return explanation;
}

void sort_by_self(std::vector<ExplainedFunction>& functions) {
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& left, const auto& right) { return left.self > right.self; });
}

Json function_json(const ExplainedFunction& function, bool has_calls) {
  Json json;
  json["function"] = function.code.function;
  json["object"] = function.code.object;
  json["self"] = json_number(function.self);
  json["calls"] = json_number(function.calls);
  if (!has_calls) return json;
  json["inclusive"] = function.inclusive ? json_number(*function.inclusive) : nullptr;
  json["recursive"] = function.is_recursive;
  json["callers"] = Json::array();
  for (const Caller& caller : function.callers) {
    json["callers"].push_back({{"function", caller.code.function},
                               {"object", caller.code.object},
                               {"inclusive", json_number(caller.ir)},
                               {"calls", json_number(caller.calls)}});
  }
  return json;
}

std::string explain_json(const Explanation& explanation) {
  Json json;
  json["schema"] = kExplanationSchema;
  json["program"] = "instr_bench";
  json["version"] = kProgramVersion;
  json["kind"] = "explanation";
  json["key"] = explanation.key;
  json[kInstructions] = json_number(explanation.total);
  json["iterations"] = explanation.iterations;
  json["has_calls"] = explanation.has_calls;
  json["functions"] = Json::array();
  for (const ExplainedFunction& one : explanation.functions) {
    json["functions"].push_back(function_json(one, explanation.has_calls));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A line for each function, followed by one for each of its callers.
std::string explain_csv(const Explanation& explanation) {
  const auto number = [](double value) { return to_line(json_number(value)); };
  std::string out =
      csv_line({"function", "object", "caller", "caller_object", "self", "inclusive", "calls"});
  for (const ExplainedFunction& one : explanation.functions) {
    out += csv_line({one.code.function, one.code.object, "", "", number(one.self),
                     one.inclusive ? number(*one.inclusive) : "", number(one.calls)});
    for (const Caller& caller : one.callers) {
      out += csv_line({one.code.function, one.code.object, caller.code.function, caller.code.object,
                       "", number(caller.ir), number(caller.calls)});
    }
  }
  return out;
}

using AsText = std::string (*)(const Explanation&, const ExplainOptions&);

template <std::string (*text)(const Explanation&)>
std::string plain(const Explanation& explanation, const ExplainOptions&) {
  return text(explanation);
}

constexpr std::pair<ReportFormat, AsText> kTexts[] = {
    {ReportFormat::kTable, explain_table},
    {ReportFormat::kMarkdown, explain_markdown},
    {ReportFormat::kJson, plain<explain_json>},
    {ReportFormat::kCsv, plain<explain_csv>},
};

}  // namespace

Explanation explain(const std::string& key, const Counted& counted,
                    const std::map<CodeName, InclusiveCost>* costs) {
  Explanation explanation = without_functions(key, counted);
  explanation.has_calls = costs != nullptr;
  for (auto& [code, function] : merged(counted.functions)) {
    if (costs != nullptr && costs->contains(code)) {
      const InclusiveCost& cost = costs->at(code);
      // The snippet's own part holds the loop, which is not part of the count.
      function.inclusive = code.is_snippet() ? explanation.total : cost.ir;
      function.is_recursive = cost.is_recursive;
      function.callers = cost.callers;
    }
    explanation.functions.push_back(std::move(function));
  }
  sort_by_self(explanation.functions);
  return explanation;
}

Explanation explain_followed(const std::string& key, const Counted& counted,
                             const std::vector<FollowedFunction>& functions) {
  Explanation explanation = without_functions(key, counted);
  explanation.has_calls = true;
  explanation.where = "place";
  explanation.rest = "in following the calls, not in the count";
  for (const FollowedFunction& one : functions) {
    explanation.functions.push_back(
        {one.code, one.self, one.calls, one.cost.ir, one.cost.is_recursive, one.cost.callers});
  }
  sort_by_self(explanation.functions);
  return explanation;
}

Explanation callers_of(Explanation explanation,
                       const std::function<bool(const std::string&)>& is_wanted) {
  explanation.is_of_callers = true;
  std::erase_if(explanation.functions, [&is_wanted](const ExplainedFunction& one) {
    return !is_wanted(one.code.function);
  });
  return explanation;
}

std::vector<ReportFormat> explain_formats() {
  std::vector<ReportFormat> formats;
  for (const auto& [format, text] : kTexts) formats.push_back(format);
  return formats;
}

std::string explain_report(ReportFormat format, const Explanation& explanation,
                           const ExplainOptions& options) {
  const auto* text = std::find_if(std::begin(kTexts), std::end(kTexts),
                                  [format](const auto& one) { return one.first == format; });
  return text->second(explanation, options);
}

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
  const std::size_t shown = std::min(options.most_functions, lines.size());
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
