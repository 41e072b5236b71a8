#include "core/compare/attribution.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "core/report/comparison_report.h"
#include "core/results/profiles_file.h"
#include "tests/golden.h"
#include "tests/unit/compare_testing.h"

namespace instr::attribution_test {
namespace {

using namespace testing;

constexpr const char* kTorch = "libtorch_cpu.so";

Attribution attribute(const std::vector<FunctionCost>& before,
                      const std::vector<FunctionCost>& after, double difference,
                      AttributionOptions options = {}) {
  return Attributor(options).attribute(before, after, difference);
}

double sum_of(const Attribution& attribution) {
  double sum = attribution.others_change + attribution.unexplained;
  for (const FunctionChange& part : attribution.parts) sum += part.change;
  return sum;
}

// Formats the parts: "at::add +50", with its library unless that is kTorch, and what else changed.
std::string parts_of(const Attribution& attribution) {
  std::string text;
  for (const FunctionChange& part : attribution.parts) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", part.function);
    if (part.object != kTorch) text += " [" + part.object + "]";
    text += fmt::format(" {:+}", part.change);
    if (part.state == FunctionState::kNew) text += " new";
    if (part.state == FunctionState::kGone) text += " gone";
    if (!part.same_name) text += " renamed";
  }
  return text;
}

TEST(Attribution, MovedNewAndGoneFunctionsAreNamed) {
  auto result =
      attribute({{"at::add", kTorch, 100}, {"at::old", kTorch, 30}, {"same", kTorch, 7}},
                {{"at::add", kTorch, 150}, {"at::fresh", kTorch, 5}, {"same", kTorch, 7}}, 25);
  EXPECT_EQ(parts_of(result), "at::add +50, at::old -30 gone, at::fresh +5 new");
  EXPECT_EQ(result.unexplained, 0);
  EXPECT_EQ(sum_of(result), 25);
}

TEST(Attribution, CallsOfEqualNamesAreSummed) {
  auto result =
      attribute({{"f()", kTorch, 10, 2}, {"f()'2", kTorch, 10, 1.5}, {"h(int)", kTorch, 9, 4}},
                {{"f()", kTorch, 30, 3}, {"g", kTorch, 6, 7}, {"h(long)", kTorch, 4, 5}}, 11);
  EXPECT_EQ(parts_of(result), "f() +10, g +6 new, h(long) -5 renamed");
  std::vector<std::pair<double, double>> calls;
  for (const auto& part : result.parts) calls.emplace_back(part.calls_before, part.calls_after);
  EXPECT_EQ(calls, (std::vector<std::pair<double, double>>{{3.5, 3}, {0, 7}, {4, 5}}));
}

TEST(Attribution, AFunctionWithOnlyMoreCallsDidNotChange) {
  EXPECT_EQ(parts_of(attribute({{"f", kTorch, 10, 2}, {"g", kTorch, 1}},
                               {{"f", kTorch, 10, 3}, {"g", kTorch, 2}}, 1)),
            "g +1");
}

TEST(Attribution, AFunctionInTwoLibrariesCountsTwice) {
  EXPECT_EQ(parts_of(attribute({{"f", "liba.so", 1}, {"f", "libb.so", 2}},
                               {{"f", "liba.so", 2}, {"f", "libb.so", 1}}, 0)),
            "f [liba.so] +1, f [libb.so] -1");
}

TEST(Attribution, LibraryVersionsAndUnitsAndSnippetsMatch) {
  auto result = attribute(
      {{"f", "libtorch_cpu.so.1.13.0", 10},
       {"instr_snippet_0f3a", "unit-12ab.so", 4},
       {"g", "unit-1.so", 1}},
      {{"f", kTorch, 12}, {"instr_snippet_77", "unit-99.so", 5}, {"g", "unit-2.so", 1}}, 3);
  EXPECT_EQ(parts_of(result), "f +2, the snippet [unit] +1");
}

TEST(Attribution, CodeWithoutSymbolsIsSummedByLibrary) {
  auto result =
      attribute({{"0x00000000018505a0", "libtorch_cpu.so.1.13.0", 100},
                 {"0x0000000001850600'2", "libtorch_cpu.so.1.13.0", 20},
                 {"0x0000000000001000", "libc10.so", 7}},
                {{"0x00000000017705a0", kTorch, 130}, {"0x0000000000002000", "???", 3}}, 6);
  EXPECT_EQ(parts_of(result),
            "libtorch_cpu.so: code without symbols +10, libc10.so: code without symbols "
            "[libc10.so] -7 gone, code of no library [] +3 new");
  EXPECT_FALSE(result.parts[0].has_symbol);
  EXPECT_EQ(sum_of(result), 6);
}

TEST(Attribution, RecursionAndClonesBelongToTheirFunction) {
  EXPECT_EQ(parts_of(attribute(
                {{"f()'2", kTorch, 1}, {"f()", kTorch, 1}, {"h.isra.0", "a.so", 3}},
                {{"f() [clone .isra.0]", kTorch, 7}, {"h.constprop.1.isra.0", "a.so", 3}}, 5)),
            "f() +5");
}

TEST(Attribution, ChangedParameterTypesMatchIfUnambiguous) {
  EXPECT_EQ(parts_of(attribute({{"at::empty(c10::optional<bool>)", kTorch, 10}},
                               {{"at::empty(std::optional<bool>)", kTorch, 12}}, 2)),
            "at::empty(std::optional<bool>) +2 renamed");
  // Two overloads are new, so the match is ambiguous.
  EXPECT_EQ(attribute({{"at::empty(int)", kTorch, 10}},
                      {{"at::empty(long)", kTorch, 11}, {"at::empty(char)", kTorch, 5}}, 6)
                .parts.size(),
            3U);
  // A function that stayed is not a candidate.
  EXPECT_EQ(parts_of(attribute({{"f(int)", kTorch, 10}, {"f(long)", kTorch, 1}},
                               {{"f(int)", kTorch, 11}, {"f(char)", kTorch, 1}}, 1)),
            "f(int) +1");
}

TEST(Attribution, AFunctionThatMovedToAnotherLibraryMatchesIfUnambiguous) {
  auto result = attribute({{"at::inlined()", "libc10.so", 10}}, {{"at::inlined()", kTorch, 12}}, 2);
  EXPECT_EQ(parts_of(result), "at::inlined() +2");
  EXPECT_EQ(result.parts[0].object_before, "libc10.so");
  result = attribute({{"f", "libc10.so", 10}}, {{"f", kTorch, 12}, {"f", "unit-1.so", 1}}, 3);
  EXPECT_EQ(result.parts.size(), 3U);
  // Code without symbols never matches that of another library.
  result = attribute({{"0x01", "libc10.so", 10}}, {{"0x02", kTorch, 12}}, 2);
  EXPECT_EQ(result.parts.size(), 2U);
}

TEST(Attribution, KnownNamesDoNotAffectLaterProfiles) {
  Attributor attributor;
  const std::vector<FunctionCost> first{
      {"f(int)", kTorch, 1}, {"0x1", "a.so", 4}, {"g", "b.so", 1}};
  const std::vector<FunctionCost> second{
      {"f(long)", kTorch, 3}, {"0x2", "a.so", 1}, {"g", "c.so", 3}};
  for (int i = 0; i < 3; ++i) {
    auto kept = attributor.attribute(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first, 1);
    auto fresh = attribute(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first, 1);
    ASSERT_EQ(kept.parts.size(), 3U);
    for (std::size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(kept.parts[part].function, fresh.parts[part].function);
      EXPECT_EQ(kept.parts[part].change, fresh.parts[part].change);
    }
  }
}

TEST(Attribution, HasARestAndAnUnexplainedPart) {
  std::vector<FunctionCost> before;
  std::vector<FunctionCost> after;
  for (int i = 0; i < 20; ++i) {
    before.push_back({"f" + std::to_string(i), kTorch, 100});
    after.push_back({"f" + std::to_string(i), kTorch, 100.0 + i});
  }
  auto result = attribute(before, after, 200, {3});
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].function, "f19");
  EXPECT_EQ(result.others, 16U);
  EXPECT_EQ(result.others_change, 190 - 19 - 18 - 17);
  EXPECT_EQ(result.unexplained, 10);
  EXPECT_EQ(sum_of(result), 200);
}

TEST(Attribution, WithoutOneProfileEverythingIsUnexplained) {
  EXPECT_EQ(attribute({}, {{"f", kTorch, 3}}, 3).unexplained, 3);
  EXPECT_TRUE(attribute({{"f", kTorch, 3}}, {}, -3).parts.empty());
  auto infinite = attribute({{"f", kTorch, INFINITY}}, {{"f", kTorch, 1}}, -INFINITY);
  EXPECT_EQ(infinite.unexplained, -INFINITY);
}

TEST(Attribution, PartsAddUpExactly) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-3, 12);
  for (int round = 0; round < 300; ++round) {
    std::vector<FunctionCost> before;
    std::vector<FunctionCost> after;
    double difference = 0;
    for (int i = 0; i < 60; ++i) {
      std::string name = "f" + std::to_string(random() % 80);
      std::string address = "0x" + std::to_string(random() % 10);
      double first = std::pow(10, exponent(random)) / 3;
      double second = std::pow(10, exponent(random)) / 7;
      before.push_back({random() % 3 != 0 ? name : address, kTorch, first});
      after.push_back({random() % 3 != 0 ? name : address, kTorch, second});
      difference += second - first;
    }
    auto result = attribute(before, after, difference, {random() % 70});
    EXPECT_EQ(sum_of(result), result.difference);
    EXPECT_NEAR(result.difference, difference, 1e-6 + std::fabs(difference) * 1e-15 + 1e-3);
    EXPECT_EQ(sum_of(attribute(after, before, -difference, {70})), -result.difference);
  }
}

// --- Attribution of a comparison ---

TEST(CompareAttribution, OnlyChangedRowsAreAttributed) {
  ResultSet first = before({counted("a", 100), counted("b", 100), counted("c", 100)});
  ResultSet second = after({counted("a", 120), counted("b", 100), counted("c", 130)});
  first.functions = functions_from({{"a", {{"f", "x.so", 100}}}, {"b", {{"f", "x.so", 100}}}});
  std::vector<std::string> requested;
  second.functions = [&](const std::string& key) {
    requested.push_back(key);
    return std::vector<FunctionCost>{{"f", "x.so", 110}, {"g", "x.so", 10}};
  };
  auto comparison = value_of(compare(first, second));
  EXPECT_EQ(requested, (std::vector<std::string>{"c", "a"}));  // most important first
  EXPECT_FALSE(comparison.rows[0].attribution);                // "c" has none before
  EXPECT_EQ(comparison.rows[1].key, "a");
  ASSERT_TRUE(comparison.rows[1].attribution);
  EXPECT_EQ(comparison.rows[1].attribution->parts.size(), 2U);
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
  EXPECT_EQ(value_of(compare(first, second)).verdict,
            Verdict::kFails);  // the verdict without the remark
  EXPECT_EQ(problems({.base_has_limits = false}), std::vector<std::string>{});
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
  auto comparison = value_of(compare(first, second, options));
  const auto& attribution = comparison.rows[0].attribution;
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
  auto comparison = value_of(compare(left, right, {.max_attributions = 3}));
  std::string attributed;
  for (const ComparedRow& row : comparison.rows) {
    if (row.attribution) attributed += row.key;
  }
  EXPECT_EQ(attributed, "igf");
  EXPECT_EQ(comparison.not_attributed, 5U);  // a to e; "h" has no functions
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

// --- Changes of calls ---

// Numbers of functions.
constexpr std::size_t kSnippet = 0;
constexpr std::size_t kF = 1;
constexpr std::size_t kG = 2;
constexpr std::size_t kH = 3;

// Returns "0>1 1->2 +30" for a call, "1 +5" for the function's own code.
std::string moves_of(const CallingFunctions& before, const CallingFunctions& after) {
  std::string text;
  for (const CallMove& move : find_call_moves(before, after)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(move.caller);
    if (move.callee) {
      text += fmt::format(">{} {}->{}", *move.callee, move.calls_before, move.calls_after);
    }
    text += fmt::format(" {:+}", move.change);
  }
  return text;
}

TEST(CallMoves, NameTheFunctionsThatChanged) {
  const CallingFunctions before{{kSnippet, {10, 0, true, {{kF, {1, 100}}}}}, {kF, {100, 1, true}}};
  EXPECT_EQ(moves_of(before, before), "");
  // The code of the callee changed; the call is made as before.
  EXPECT_EQ(moves_of(before, {{kSnippet, {10, 0, true, {{kF, {1, 130}}}}}, {kF, {130, 1, true}}}),
            "1 +30");
  // A new call, including the calls inside it.
  const CallingFunctions calls{{kSnippet, {10, 0, true, {{kF, {1, 180}}}}},
                               {kF, {105, 1, true, {{kG, {1, 75}}}}},
                               {kG, {25, 1, true, {{kH, {2, 50}}}}},
                               {kH, {50, 2, true}}};
  EXPECT_EQ(moves_of(before, calls), "1>2 0->1 +75, 1 +5");
  EXPECT_EQ(moves_of(calls, before), "1>2 1->0 -75, 1 -5");
}

TEST(CallMoves, ACallMadeMoreOftenIsAChangeOfTheCaller) {
  const CallingFunctions before{{kSnippet, {10, 0, true, {{kF, {1, 30}}}}},
                                {kF, {10, 1, true, {{kG, {2, 20}}}}},
                                {kG, {20, 2, true}}};
  const CallingFunctions after{{kSnippet, {10, 0, true, {{kF, {3, 90}}}}},
                               {kF, {30, 3, true, {{kG, {6, 60}}}}},
                               {kG, {60, 6, true}}};
  EXPECT_EQ(moves_of(before, after), "0>1 1->3 +60");
}

TEST(CallMoves, LessCertainChangesAreSearchedIfHalfIsUnexplained) {
  // The snippet calls F once more; each call of F costs more, too.
  const CallingFunctions before{{kSnippet, {10, 0, true, {{kF, {1, 10}}}}}, {kF, {10, 1, true}}};
  EXPECT_EQ(moves_of(before, {{kSnippet, {10, 0, true, {{kF, {2, 30}}}}}, {kF, {30, 2, true}}}),
            "0>1 1->2 +20");
  // Code without symbols calls it more often, and each of its calls costs more.
  const CallingFunctions without{
      {kSnippet, {10, 0, true}}, {kG, {5, 9, false, {{kF, {1, 10}}}}}, {kF, {10, 1, true}}};
  const CallingFunctions more{
      {kSnippet, {10, 0, true}}, {kG, {5, 9, false, {{kF, {2, 200}}}}}, {kF, {200, 2, true}}};
  EXPECT_EQ(moves_of(without, more), "1 +180");
  const CallingFunctions only{
      {kSnippet, {10, 0, true}}, {kG, {50, 9, false, {{kF, {1, 10}}}}}, {kF, {10, 1, true}}};
  EXPECT_EQ(moves_of(without, only), "2 +45");
}

// Real measurements: after each of ten typical changes, the first line names the change.
TEST(CallChanges, NameTheChangeFirst) {
  const auto opened = [](const std::string& name) {
    Results results;
    results.header_line = "{}";
    const fs::path file = fixture("ten_changes/" + name + ".jsonl");
    return value_of(read_profiles(file, results, Incomplete::kAllowed)).functions;
  };
  const FunctionsOf before = opened("before");
  const FunctionsOf changed = opened("after");
  const FunctionsOf by_value = opened("by_value");
  const auto first = [&before](const std::string& name, const FunctionsOf& after) {
    const std::string key = "ten/" + name + "/eager/forward/t1/cpu";
    const auto old = before(key).value();
    const auto now = after(key).value();
    double change = 0;
    for (const FunctionCost& function : now) change += function.ir;
    for (const FunctionCost& function : old) change -= function.ir;
    const auto lines = call_lines(Attributor().attribute(old, now, change), 100);
    return lines.empty() ? "nothing" : lines.front().change + " " + lines.front().text;
  };
  std::string all;
  for (const char* name : {"bias_gelu", "scaled", "total", "counter", "apply", "note", "reduce",
                           "checked", "lookup"}) {
    all += first(name, changed) + "\n";
  }
  all += first("scaled", by_value) + "\n";
  EXPECT_GOLDEN("compare/ten_changes.txt", all);
}

}  // namespace
}  // namespace instr::attribution_test
