// The rows and metrics that a comparison attributes to functions.
#include "tests/unit/compare_testing.h"

namespace instr::compare_attribution_test {
namespace {

using namespace testing;

TEST(CompareAttribution, OnlyChangedRowsAreAttributed) {
  ResultSet first = before({counted("a", 100), counted("b", 100), counted("c", 100)});
  ResultSet second = after({counted("a", 120), counted("b", 100), counted("c", 130)});
  first.functions = functions_from({{"a", {{"f", "x.so", 100}}}, {"b", {{"f", "x.so", 100}}}});
  std::vector<std::string> requested;
  second.functions = [&](const std::string& key) {
    requested.push_back(key);
    return std::vector<FunctionCost>{{"f", "x.so", 110}, {"g", "x.so", 10}};
  };
  auto comparison = compare(first, second);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(requested, (std::vector<std::string>{"c", "a"}));  // most important first
  EXPECT_FALSE(comparison->rows[0].attribution);               // "c" has none before
  EXPECT_EQ(comparison->rows[1].key, "a");
  ASSERT_TRUE(comparison->rows[1].attribution);
  EXPECT_EQ(comparison->rows[1].attribution->parts.size(), 2U);
}

TEST(CompareAttribution, FunctionsOfOneSideOnlyAreNamed) {
  ResultSet first = before({counted("a", 100), counted("b", 100), counted("c", 100)});
  ResultSet second = after({counted("a", 120), counted("b", 100), counted("c", 130)});
  const auto functions = functions_from({{"a", {{"f", "x.so", 120}}}, {"b", {{"f", "x.so", 100}}}});
  const auto problems = [&](const CompareOptions& options = {}) {
    return value_of(compare(first, second, options)).problems;
  };
  EXPECT_EQ(problems(), std::vector<std::string>{});  // neither side has any
  second.functions = functions;
  ASSERT_EQ(problems().size(), 1U);
  EXPECT_HAS(problems()[0], "the baseline: has no functions of 1 benchmark that changed");
  EXPECT_EQ(value_of(compare(first, second)).verdict, Verdict::kFails);  // as without the remark
  CompareOptions expected;
  expected.base_has_limits = false;
  EXPECT_EQ(problems(expected), std::vector<std::string>{});
  std::swap(first.functions, second.functions);
  ASSERT_EQ(problems().size(), 1U);
  EXPECT_HAS(problems()[0], "the new results: has no functions");
}

TEST(CompareAttribution, TheMetricThatFailsIsAttributed) {
  const std::string cycles = "estimated_cycles";
  ResultSet first = before({counted("a", {{"instructions", 10000}, {cycles, 900}})});
  ResultSet second = after({counted("a", {{"instructions", 10001}, {cycles, 1250}})});
  auto functions = [](double misses) {
    return functions_from({{"a",
                            {{"f", "x.so", 60, 1, {{"Dr", 20}, {"D1mr", misses}}},
                             {"g", "x.so", 40, 1, {{"Dw", 5}}}}}});
  };
  first.functions = functions(2);
  second.functions = functions(52);
  CompareOptions options;
  options.limits.hard[cycles] = Limit{1.0, std::nullopt};
  auto comparison = compare(first, second, options);
  ASSERT_TRUE(comparison);
  const auto& attribution = comparison->rows[0].attribution;
  ASSERT_TRUE(attribution);
  EXPECT_EQ(attribution->metric, cycles);
  EXPECT_EQ(attribution->difference, 350);
  ASSERT_EQ(attribution->parts.size(), 1U);
  EXPECT_EQ(attribution->parts[0].function, "f");
  EXPECT_EQ(attribution->parts[0].change, 200);  // 50 misses at 5 cycles less the 1 of a hit
  EXPECT_EQ(attribution->unexplained, 150);
  // If one side was not simulated, there are only the instructions.
  first.functions = functions_from({{"a", {{"f", "x.so", 60, 1}, {"g", "x.so", 40, 1}}}});
  EXPECT_EQ(compare(first, second, options)->rows[0].attribution->metric, "instructions");
}

TEST(CompareAttribution, TheMostImportantRowsAreAttributed) {
  std::vector<Measurement> first;
  std::vector<Measurement> second;
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (int i = 0; i < 9; ++i) {
    std::string key(1, static_cast<char>('a' + i));
    first.push_back(counted(key, 100));
    second.push_back(counted(key, 110 + i));
    if (i != 7) functions[key] = {{"f", "x.so", 100}};
  }
  ResultSet left = before(first);
  ResultSet right = after(second);
  left.functions = right.functions = functions_from(functions);
  CompareOptions options;
  options.max_attributions = 3;
  auto comparison = compare(left, right, options);
  ASSERT_TRUE(comparison);
  std::string attributed;
  for (const ComparedRow& row : comparison->rows) {
    if (row.attribution) attributed += row.key;
  }
  EXPECT_EQ(attributed, "igf");
  EXPECT_EQ(comparison->not_attributed, 5U);  // a to e; "h" has no functions
}

TEST(CompareAttribution, UnreadableFunctionsAreAnErrorIfNeeded) {
  ResultSet first = before({counted("a", 100)});
  ResultSet second = after({counted("a", 120)});
  first.functions = functions_from({{"a", {{"f", "x.so", 100}}}});
  second.functions = [](const std::string&) { return fail("damaged"); };
  auto comparison = compare(first, second);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().what, "damaged");
  second.results = first.results;
  EXPECT_TRUE(compare(first, second));
}

}  // namespace
}  // namespace instr::compare_attribution_test
