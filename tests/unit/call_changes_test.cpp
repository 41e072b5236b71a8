#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/compare/attribution.h"
#include "core/report/comparison_report.h"
#include "core/results/profiles_file.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::call_changes_test {
namespace {

using namespace testing;

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
}  // namespace instr::call_changes_test
