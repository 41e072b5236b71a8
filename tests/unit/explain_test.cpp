#include "core/report/explain.h"

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "tests/golden.h"

namespace instr::explain_test {
namespace {

Counted counted() {
  Counted made;
  made.metrics = {{"instructions", 1000}};
  made.functions = {{"at::mm(at::Tensor const&)", "libtorch_cpu.so", 600, 2},
                    {"0x00001234", "libtorch_cpu.so", 150, 1},
                    {"free", "worker", 100, 4.5},
                    {"0x00005678", "libtorch_cpu.so", 50, 1},
                    {"malloc", "worker", 80, 4}};
  return made;
}

CodeName name(const std::string& function, const std::string& object) {
  return {function, object, true};
}

const CodeName kMm{"at::mm(at::Tensor const&)", "libtorch_cpu.so", true};
const CodeName kNoSymbol{"libtorch_cpu.so: code without symbols", "libtorch_cpu.so", false};

std::map<CodeName, InclusiveCost> costs() {
  return {{kMm, {900, true, {{kNoSymbol, 900, 1}}}},
          {kNoSymbol, {std::nullopt, false, {{kMm, 250, 2}}}},
          {name("free", "worker"), {100, false, {{kMm, 75, 3}, {kNoSymbol, 25, 1.5}}}},
          {name("malloc", "worker"),
           {80,
            false,
            {{kMm, 40, 2},
             {name("a", "x"), 20, 1},
             {name("b", "x"), 10, 1},
             {name("c", "x"), 6, 1},
             {name("d", "x"), 4, 1}}}}};
}

Explanation explanation() {
  const auto known = costs();
  return explain("a/b", counted(), &known);
}

std::string table(const Explanation& explanation, std::size_t width, std::size_t max = 25,
                  ExplainOrder order = ExplainOrder::kSelf) {
  return explain_report(ReportFormat::kTable, explanation,
                        {.order = order, .max_functions = max, .render = {.width = width}});
}

TEST(Explain, SelfCostsAloneOfAResultsFile) {
  EXPECT_GOLDEN("explain/self_costs_of_a_results_file.txt", table(explain("a/b", counted()), 80));
}

TEST(Explain, InclusiveCostsAndCallers) {
  EXPECT_GOLDEN("explain/inclusive_costs_and_callers.txt", table(explanation(), 80));
}

TEST(Explain, SortsByInclusiveCostOnRequest) {
  EXPECT_GOLDEN("explain/two_by_inclusive_cost.txt",
                table(explanation(), 80, 2, ExplainOrder::kInclusive));
}

TEST(Explain, CallersOfChosenFunctionsAreAllThere) {
  const Explanation chosen =
      select_callers(explanation(), [](const std::string& name) { return name == "malloc"; });
  EXPECT_GOLDEN("explain/all_callers_of_a_function.txt", table(chosen, 80));
}

TEST(Explain, ShowsWhatFitsTheTerminal) {
  EXPECT_GOLDEN("explain/wide.txt", table(explanation(), 120));
  EXPECT_GOLDEN("explain/narrow.txt", table(explanation(), 60));
  Counted many = counted();
  many.functions.push_back(
      {"std::vector<a::very<long, name<of, a>>, type>::function(with, parameters)", "x.so", 5, 1});
  const auto known = costs();
  for (const Explanation& one : {explain("a/b", many, &known), explain("a/b", many)}) {
    for (std::size_t width = 60; width < 140; ++width) {
      for (const std::string& line : wrap(table(one, width), 0)) {
        EXPECT_LE(display_width(line), width) << line;
      }
    }
  }
}

// The loop around the statement is in the snippet's own calls, and not in the count.
TEST(Explain, TheSnippetCostsAllOfIt) {
  Counted made = counted();
  made.functions.push_back({"instr_snippet_77", "unit-1.so", 20, 0});
  const std::map<CodeName, InclusiveCost> known{{name(kSnippetName, "unit"), {1048, false, {}}}};
  const Explanation explanation = explain("a/b", made, &known);
  EXPECT_EQ(explanation.functions.back().code.function, kSnippetName);
  EXPECT_EQ(explanation.functions.back().inclusive, 1000);
  EXPECT_FALSE(explanation.functions.front().inclusive);
}

TEST(Explain, WithoutFunctionsOrInstructions) {
  Counted nothing;
  nothing.metrics = {{"instructions", 0}};
  EXPECT_GOLDEN("explain/nothing.txt", table(explain("a\nb", nothing), 0));
}

TEST(ExplainMarkdown, IsATableForEach) {
  EXPECT_GOLDEN("explain/self_costs.md",
                explain_report(ReportFormat::kMarkdown, explain("a_b", counted(), nullptr)));
  EXPECT_GOLDEN("explain/inclusive_costs_and_callers.md",
                explain_report(ReportFormat::kMarkdown, explanation()));
}

TEST(ExplainJson, HasAllWithFullNames) {
  const auto json = [](const Explanation& explanation, const ExplainOptions& options) {
    auto parsed = nlohmann::ordered_json::parse(
        explain_report(ReportFormat::kJson, explanation, options), nullptr, false);
    parsed.erase("version");
    return testing::json_lines(parsed);
  };
  EXPECT_GOLDEN("explain/inclusive_costs_and_callers.json.txt",
                json(explanation(), {.max_functions = 1, .render = {.width = 40}}));
  EXPECT_GOLDEN("explain/self_costs.json.txt", json(explain("a/b", counted()), {}));
}

TEST(ExplainCsv, HasALineForEachFunctionAndCaller) {
  EXPECT_GOLDEN("explain/functions_and_callers.csv",
                explain_report(ReportFormat::kCsv, explanation()));
}

// --- Lines ---

const LineCosts kCosts{10,
                       {{"a.cpp", 12, 200, 200, "reserve(n);"},
                        {"a.cpp", 14, 3670, 9670, "for (float x : n) push_back(x * x);"},
                        {"bench.toml", 7, 30, std::nullopt, "squares(\"|\");"}}};

std::string report(ReportFormat format, ExplainOptions options = {}) {
  return lines_report(format, "a/b", 1174, kCosts, options);
}

TEST(ExplainLines, AsATable) {
  EXPECT_GOLDEN("explain/lines.txt", report(ReportFormat::kTable));
  EXPECT_GOLDEN("explain/lines_in_a_narrow_table.txt",
                report(ReportFormat::kTable, {.max_functions = 1, .render = {.width = 80}}));
}

TEST(ExplainLines, SortedByInclusiveCost) {
  const LineCosts costs{1, {{"f", 1, 9, 9, ""}, {"f", 2, 1, 50, ""}}};
  EXPECT_GOLDEN(
      "explain/lines_by_inclusive_cost.txt",
      lines_report(ReportFormat::kTable, "k", 60, costs, {.order = ExplainOrder::kInclusive}));
}

TEST(ExplainLines, AsJsonAndCsvAndMarkdown) {
  auto json = nlohmann::ordered_json::parse(report(ReportFormat::kJson));
  json.erase("version");
  EXPECT_GOLDEN("explain/lines.json.txt", testing::json_lines(json));
  EXPECT_GOLDEN("explain/lines.csv", report(ReportFormat::kCsv));
  EXPECT_GOLDEN("explain/lines.md", report(ReportFormat::kMarkdown));
}

}  // namespace
}  // namespace instr::explain_test
