#include "core/report/explain.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/table.h"
#include "core/base/version.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kExplanationSchema = 1;

// Joins the code without symbols of each library, whose functions are named by address.
std::map<CodeName, ExplainedFunction> merged(const std::vector<FunctionCost>& functions) {
  std::map<CodeName, ExplainedFunction> sums;
  for (const FunctionCost& cost : functions) {
    CodeName code = code_name(cost.function, cost.object);
    ExplainedFunction& sum = sums[code];
    sum.code = std::move(code);
    sum.self += cost.ir;
    sum.calls += cost.calls;
  }
  return sums;
}

Explanation without_functions(const std::string& key, const Counted& counted) {
  Explanation explanation;
  explanation.key = key;
  explanation.iterations = counted.iterations;
  if (auto it = counted.metrics.find(kInstructions); it != counted.metrics.end()) {
    explanation.total = it->second;
  }
  return explanation;
}

void sort_by_self(std::vector<ExplainedFunction>& functions) {
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& left, const auto& right) { return left.self > right.self; });
}

Json function_json(const ExplainedFunction& function, bool has_calls) {
  Json json{{"function", function.code.function},
            {"object", function.code.object},
            {"self", json_number(function.self)},
            {"calls", json_number(function.calls)}};
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

DocumentRecord make_record(const ExplainedFunction& function, bool has_calls) {
  const auto number = [](double value) { return to_line(json_number(value)); };
  const CodeName& code = function.code;
  DocumentRecord record{to_line(function_json(function, has_calls)), {}};
  record.lines.push_back({code.function, code.object, "", "", number(function.self),
                          function.inclusive ? number(*function.inclusive) : "",
                          number(function.calls)});
  for (const Caller& caller : function.callers) {
    record.lines.push_back({code.function, code.object, caller.code.function, caller.code.object,
                            "", number(caller.ir), number(caller.calls)});
  }
  return record;
}

RenderOptions render_options(const ExplainOptions& options) {
  return {static_cast<std::size_t>(std::max(options.width, 0)), options.color};
}

constexpr const char* kNoCalls =
    "A results file holds self costs alone: without it, explain measures, and shows inclusive "
    "costs and callers, too.";

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
  explanation.has_packages = true;
  explanation.where = "place";
  explanation.rest = "in following the calls, not in the count";
  for (const FollowedFunction& function : functions) {
    explanation.functions.push_back({function.code, function.self, function.calls, function.cost.ir,
                                     function.cost.is_recursive, function.cost.callers});
  }
  sort_by_self(explanation.functions);
  return explanation;
}

Explanation select_callers(Explanation explanation,
                           const std::function<bool(const std::string&)>& is_wanted) {
  explanation.is_of_callers = true;
  std::erase_if(explanation.functions, [&is_wanted](const ExplainedFunction& function) {
    return !is_wanted(function.code.function);
  });
  return explanation;
}

Document explain_document(const Explanation& explanation, const ExplainOptions& options) {
  Document document{.title = explanation_title(explanation.key, explanation.total),
                    .tables = explain_tables(explanation, options)};
  if (!explanation.has_calls) document.notes.push_back({.text = kNoCalls});
  document.head = to_line({{"schema", kExplanationSchema},
                           {"program", "instr_bench"},
                           {"version", kProgramVersion},
                           {"kind", "explanation"},
                           {"key", explanation.key},
                           {kInstructions, json_number(explanation.total)},
                           {"iterations", explanation.iterations},
                           {"has_calls", explanation.has_calls}});
  document.list_name = "functions";
  document.fields = {"function", "object", "caller", "caller_object", "self", "inclusive", "calls"};
  for (const ExplainedFunction& function : explanation.functions) {
    document.records.push_back(make_record(function, explanation.has_calls));
  }
  return document;
}

std::string explain_report(ReportFormat format, const Explanation& explanation,
                           const ExplainOptions& options) {
  ExplainOptions shown = options;
  if (format != ReportFormat::kTable) {
    shown.width = 0;
  } else if (options.width <= 0) {
    shown.width = static_cast<int>(kPipeWidth);
  }
  return render(format, explain_document(explanation, shown), render_options(options));
}

std::string lines_report(ReportFormat format, const std::string& key, double total,
                         const LineCosts& costs, const ExplainOptions& options) {
  ExplainOptions shown = options;
  if (format != ReportFormat::kTable) shown.width = 0;
  return render(format, lines_document(key, total, costs, shown), render_options(options));
}

}  // namespace instr
