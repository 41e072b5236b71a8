#include "core/report/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/format.h"

namespace instr {
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

std::map<CodeName, InclusiveCost> calls() {
  const CodeName mm = name("at::mm(at::Tensor const&)", "libtorch_cpu.so");
  const CodeName no_symbol{"libtorch_cpu.so: code without symbols", "libtorch_cpu.so", false};
  return {{mm, {900, true, {{no_symbol, 900, 1}}}},
          {name("free", "worker"), {100, false, {{mm, 75, 3}, {no_symbol, 25, 1.5}}}},
          {name("malloc", "worker"),
           {80,
            false,
            {{mm, 40, 2},
             {name("a", "x"), 20, 1},
             {name("b", "x"), 10, 1},
             {name("c", "x"), 6, 1},
             {name("d", "x"), 4, 1}}}}};
}

std::string table(const Explanation& explanation, int width, std::size_t most = 25) {
  ExplainOptions options;
  options.width = width;
  options.most_functions = most;
  return explain_table(explanation, options);
}

TEST(Explain, SelfCostsAloneOfAResultsFile) {
  EXPECT_EQ(table(explain("a/b", counted()), 80),
            R"(a/b: 1,000 instructions per iteration

                                                         so
                                       self   share     far  calls
──────────────────────────────────────────────────────────────────
at::mm(at::Tensor const&)               600  60.00%  60.00%      2
libtorch_cpu.so: code without symbols   200  20.00%  80.00%      2
free                                    100  10.00%  90.00%    4.5
malloc                                   80   8.00%  98.00%      4
in no function                           20   2.00%

inclusive costs and callers are of a measurement alone: leave the results out to
measure
)");
}

TEST(Explain, TheRestIsOneLine) {
  EXPECT_NE(table(explain("a/b", counted()), 80, 1).find("3 other functions           400  40.00%\n"),
            std::string::npos)
      << table(explain("a/b", counted()), 80, 1);
}

TEST(Explain, InclusiveCostsAndCallers) {
  const auto known = calls();
  EXPECT_EQ(table(explain("a/b", counted(), &known), 80, 4),
            R"(a/b: 1,000 instructions per iteration

by self cost (from: its callers, and what of its inclusive cost is theirs):
                                         self   share  inclusive    share  calls
────────────────────────────────────────────────────────────────────────────────
at::mm(at::Tensor const&) (recursive)     600  60.00%        900   90.00%      2
  from libtorch_cpu…ode without symbols                      900  100.00%      1
libtorch_cpu.so: code without symbols     200  20.00%          -        -      2
free                                      100  10.00%        100   10.00%    4.5
  from at::mm(at::Tensor const&)                              75   75.00%      3
  from libtorch_cpu…ode without symbols                       25   25.00%    1.5
malloc                                     80   8.00%         80    8.00%      4
  from at::mm(at::Tensor const&)                              40   50.00%      2
  from a                                                      20   25.00%      1
  from b                                                      10   12.50%      1
  from 2 others                                               10   12.50%      2
in no function                             20   2.00%

by inclusive cost:
                                       self   share  inclusive   share  calls
─────────────────────────────────────────────────────────────────────────────
at::mm(at::Tensor const&) (recursive)   600  60.00%        900  90.00%      2
free                                    100  10.00%        100  10.00%    4.5
malloc                                   80   8.00%         80   8.00%      4
)");
}

TEST(Explain, FitsEveryWidth) {
  const auto known = calls();
  Counted many = counted();
  many.functions.push_back(
      {"std::vector<a::very<long, name<of, a>>, type>::function(with, parameters)", "x.so", 5, 1});
  for (const Explanation& explanation : {explain("a/b", many, &known), explain("a/b", many)}) {
    for (int width = 20; width < 140; ++width) {
      for (const std::string& line : wrap(table(explanation, width), 0)) {
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
  EXPECT_NE(table(explain("a/b", many, &known), 140).find("4           worker\n"),
            std::string::npos)
      << table(explain("a/b", many, &known), 140);
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
  const auto known = calls();
  const std::string text = explain_markdown(explain("a_b", counted(), &known));
  EXPECT_EQ(text.find("a\\_b: 1,000 instructions per iteration\n\nby self cost "), 0U) << text;
  EXPECT_NE(text.find("| function | self | share | inclusive | share | calls | library |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| at::mm(at::Tensor const\\&) (recursive) | 600 | 60.00% | 900 | 90.00% | "
                      "2 | libtorch\\_cpu.so |\n"),
            std::string::npos)
      << text;
}

TEST(ExplainJson, HasAllWithFullNames) {
  const auto known = calls();
  ExplainOptions options;
  options.most_functions = 1;
  const auto text = explain_report(ReportFormat::kJson, explain("a/b", counted(), &known), options);
  ASSERT_TRUE(text);
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["kind"], "explanation");
  EXPECT_EQ(json["instructions"], 1000);
  EXPECT_EQ(json["has_calls"], true);
  ASSERT_EQ(json["functions"].size(), 4U);
  EXPECT_EQ(json["functions"][0]["function"], "at::mm(at::Tensor const&)");
  EXPECT_EQ(json["functions"][0]["recursive"], true);
  EXPECT_FALSE(json["functions"][1].contains("inclusive"));
  EXPECT_EQ(json["functions"][3]["callers"].size(), 5U);
  EXPECT_EQ(json["functions"][3]["callers"][0]["inclusive"], 40);
  const auto self_only = explain_report(ReportFormat::kJson, explain("a/b", counted()));
  EXPECT_EQ(nlohmann::json::parse(*self_only)["has_calls"], false);
}

TEST(ExplainCsv, HasALineForEachFunctionAndCaller) {
  const auto known = calls();
  const auto text = explain_report(ReportFormat::kCsv, explain("a/b", counted(), &known));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, text->find("malloc")),
            "function,library,caller,caller_library,self,inclusive,calls\r\n"
            "at::mm(at::Tensor const&),libtorch_cpu.so,,,600,900,2\r\n"
            "at::mm(at::Tensor const&),libtorch_cpu.so,libtorch_cpu.so: code without "
            "symbols,libtorch_cpu.so,,900,1\r\n"
            "libtorch_cpu.so: code without symbols,libtorch_cpu.so,,,200,,2\r\n"
            "free,worker,,,100,100,4.5\r\n"
            "free,worker,at::mm(at::Tensor const&),libtorch_cpu.so,,75,3\r\n"
            "free,worker,libtorch_cpu.so: code without symbols,libtorch_cpu.so,,25,1.5\r\n");
}

TEST(ExplainReport, HasNoOtherFormat) {
  const auto none = explain_report(ReportFormat::kJunit, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(to_string(none.error()),
            "explain has no such format: use --format=table, markdown, json or csv");
}

}  // namespace
}  // namespace instr
