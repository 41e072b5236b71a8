#include "core/report/explain.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/base/version.h"
#include "core/results/results_file.h"

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

using ExplainFormat = std::string (*)(const Explanation&, const ExplainOptions&);

template <std::string (*text)(const Explanation&)>
std::string plain(const Explanation& explanation, const ExplainOptions&) {
  return text(explanation);
}

constexpr std::pair<ReportFormat, ExplainFormat> kTexts[] = {
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

}  // namespace instr
