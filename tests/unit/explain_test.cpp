#include "core/report/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/format.h"

namespace instr::explain_test {
namespace {

Counted counted() {
  Counted made;
  made.metrics = {{"ir", 1000}};
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

std::string table(const Explanation& explanation, int width, std::size_t most = 25,
                  ExplainOrder order = ExplainOrder::kSelf) {
  return explain_table(explanation, {.order = order, .most_functions = most, .width = width});
}

TEST(Explain, SelfCostsAloneOfAResultsFile) {
  EXPECT_EQ(table(explain("a/b", counted()), 80),
            R"(a/b: 1,000 instructions per iteration

self  share  so far  calls  function
 600  60.0%   60.0%      2  at::mm(at::Tensor const&)
 200  20.0%   80.0%      2  libtorch_cpu.so: code without symbols
 100  10.0%   90.0%    4.5  free
  80   8.0%   98.0%      4  malloc
  20   2.0%                 in no function

A results file holds self costs alone: without it, explain measures, and shows
inclusive costs and callers, too.
)");
}

TEST(Explain, InclusiveCostsAndCallers) {
  EXPECT_EQ(table(explanation(), 80),
            R"(a/b: 1,000 instructions per iteration

self  share  inclusive  share  calls  function
 600  60.0%        900  90.0%      2  at::mm(at::Tensor const&) (recursive)
 200  20.0%          -      -      2  libtorch_cpu.so: code without symbols
 100  10.0%        100  10.0%    4.5  free
  80   8.0%         80   8.0%      4  malloc
  20   2.0%                           in no function

callers, with their share of the function's inclusive cost:
inclusive   share  calls  function
      900              2  at::mm(at::Tensor const&) (recursive)
      900  100.0%      1    from libtorch_cpu.so: code without symbols
        -              2  libtorch_cpu.so: code without symbols
      250       -      2    from at::mm(at::Tensor const&)
      100            4.5  free
       75   75.0%      3    from at::mm(at::Tensor const&)
       25   25.0%    1.5    from libtorch_cpu.so: code without symbols
       80              4  malloc
       40   50.0%      2    from at::mm(at::Tensor const&)
       20   25.0%      1    from a
       10   12.5%      1    from b
       10   12.5%      2    from 2 others
)");
}

TEST(Explain, SortsByInclusiveCostOnRequest) {
  const std::string text = table(explanation(), 80, 2, ExplainOrder::kInclusive);
  EXPECT_NE(
      text.find(" 600  60.0%        900  90.0%      2  at::mm(at::Tensor const&) (recursive)\n"
                " 100  10.0%        100  10.0%    4.5  free\n"
                " 300  30.0%                           2 other functions\n"),
      std::string::npos)
      << text;
}

TEST(Explain, CallersOfChosenFunctionsAreAllThere) {
  const Explanation chosen =
      callers_of(explanation(), [](const std::string& one) { return one == "malloc"; });
  EXPECT_EQ(table(chosen, 80), R"(a/b: 1,000 instructions per iteration

self  share  inclusive  share  calls  function
  80   8.0%         80   8.0%      4  malloc

callers, with their share of the function's inclusive cost:
inclusive  share  calls  function
       80             4  malloc
       40  50.0%      2    from at::mm(at::Tensor const&)
       20  25.0%      1    from a
       10  12.5%      1    from b
        6   7.5%      1    from c
        4   5.0%      1    from d
)");
}

TEST(Explain, ShowsWhatFitsTheTerminal) {
  const std::string wide = table(explanation(), 120);
  EXPECT_NE(wide.find("at::mm(at::Tensor const&) (recursive)  libtorch_cpu.so\n"),
            std::string::npos)
      << wide;
  const std::string narrow = table(explanation(), 60);
  EXPECT_NE(narrow.find("self  inclusive  calls  function\n"), std::string::npos) << narrow;
  Counted many = counted();
  many.functions.push_back(
      {"std::vector<a::very<long, name<of, a>>, type>::function(with, parameters)", "x.so", 5, 1});
  const auto known = costs();
  for (const Explanation& one : {explain("a/b", many, &known), explain("a/b", many)}) {
    for (int width = 60; width < 140; ++width) {
      for (const std::string& line : wrap(table(one, width), 0)) {
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
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
  nothing.metrics = {{"ir", 0}};
  const std::string text = table(explain("a\nb", nothing), 0);
  EXPECT_EQ(text.find("a b: 0 instructions per iteration\n\n"), 0U) << text;
}

TEST(ExplainMarkdown, IsATableForEach) {
  const std::string text =
      explain_report(ReportFormat::kMarkdown, explain("a_b", counted(), nullptr));
  EXPECT_EQ(text.find("a\\_b: 1,000 instructions per iteration\n\n"
                      "| function | self | share | so far | calls | object |\n"),
            0U)
      << text;
  const std::string all = explain_report(ReportFormat::kMarkdown, explanation());
  EXPECT_NE(all.find("| at::mm(at::Tensor const\\&) (recursive) | 600 | 60.0% | 900 | 90.0% | 2 | "
                     "libtorch\\_cpu.so |\n"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("|   from 2 others | 10 | 12.5% | 2 | |\n"), std::string::npos) << all;
}

TEST(ExplainJson, HasAllWithFullNames) {
  const auto text =
      explain_report(ReportFormat::kJson, explanation(), {.most_functions = 1, .width = 40});
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["kind"], "explanation");
  EXPECT_EQ(json["ir"], 1000);
  EXPECT_EQ(json["has_calls"], true);
  ASSERT_EQ(json["functions"].size(), 4U);
  EXPECT_EQ(json["functions"][0]["function"], "at::mm(at::Tensor const&)");
  EXPECT_EQ(json["functions"][0]["recursive"], true);
  EXPECT_TRUE(json["functions"][1]["inclusive"].is_null());
  EXPECT_EQ(json["functions"][3]["callers"].size(), 5U);
  EXPECT_EQ(json["functions"][3]["callers"][0]["inclusive"], 40);
  const auto self_only =
      nlohmann::json::parse(explain_report(ReportFormat::kJson, explain("a/b", counted())));
  EXPECT_EQ(self_only["has_calls"], false);
  EXPECT_FALSE(self_only["functions"][0].contains("inclusive"));
}

TEST(ExplainCsv, HasALineForEachFunctionAndCaller) {
  const auto text = explain_report(ReportFormat::kCsv, explanation());
  EXPECT_EQ(text.substr(0, text.find("malloc")),
            "function,object,caller,caller_object,self,inclusive,calls\r\n"
            "at::mm(at::Tensor const&),libtorch_cpu.so,,,600,900,2\r\n"
            "at::mm(at::Tensor const&),libtorch_cpu.so,libtorch_cpu.so: code without "
            "symbols,libtorch_cpu.so,,900,1\r\n"
            "libtorch_cpu.so: code without symbols,libtorch_cpu.so,,,200,,2\r\n"
            "libtorch_cpu.so: code without symbols,libtorch_cpu.so,at::mm(at::Tensor "
            "const&),libtorch_cpu.so,,250,2\r\n"
            "free,worker,,,100,100,4.5\r\n"
            "free,worker,at::mm(at::Tensor const&),libtorch_cpu.so,,75,3\r\n"
            "free,worker,libtorch_cpu.so: code without symbols,libtorch_cpu.so,,25,1.5\r\n");
}

}  // namespace
}  // namespace instr::explain_test
