#include "core/values/call_graph.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <regex>
#include <string>

namespace instr {
namespace {

std::string fixture(const std::string& name) {
  return std::string(INSTR_SOURCE_DIR) + "/tests/fixtures/profile/" + name;
}

Profile profile_of(const std::string& text) {
  auto profile = parse_profile(text, "x");
  EXPECT_TRUE(profile) << to_string(profile.error());
  return profile.value_or(Profile{});
}

const InclusiveCost* find(const std::map<CodeName, InclusiveCost>& costs, const std::string& name) {
  for (const auto& [code, cost] : costs) {
    if (code.function == name) return &cost;
  }
  return nullptr;
}

// callgrind_annotate --inclusive=yes: "1,465  file:function [object]", by function and object; the
// lines of inlined code, which it has apart, name no object.
std::map<CodeName, double> annotated() {
  std::map<CodeName, double> result;
  std::ifstream file(fixture("part.inclusive.txt"));
  EXPECT_TRUE(file);
  const std::regex row(R"( *([0-9,]+)  [^:]*:(.*) \[.*/([^/]*)\])");
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    std::string digits = found[1];
    std::erase(digits, ',');
    if (!is_recursion(found[2].str())) {
      result[code_name(found[2].str(), found[3].str())] = std::stod(digits);
    }
  }
  return result;
}

TEST(CallGraph, AgreesWithCallgrindAnnotate) {
  auto profile = read_profile(fixture("part.callgrind.out"));
  ASSERT_TRUE(profile) << to_string(profile.error());
  const auto costs = inclusive_costs(*profile, 1);
  std::size_t compared = 0;
  for (const auto& [code, inclusive] : annotated()) {
    if (!code.has_symbol) continue;
    ASSERT_TRUE(costs.contains(code)) << code.function;
    EXPECT_EQ(costs.at(code).ir, inclusive) << code.function;
    ++compared;
  }
  EXPECT_EQ(compared, costs.size());
  EXPECT_GE(compared, 12U);
}

// All that a function costs is somebody's who called it.
TEST(CallGraph, CallersSharesAddUp) {
  auto profile = read_profile(fixture("part.callgrind.out"));
  ASSERT_TRUE(profile);
  std::size_t called = 0;
  for (const auto& [code, cost] : inclusive_costs(*profile, 1)) {
    if (cost.callers.empty()) continue;
    double sum = 0;
    for (const Caller& caller : cost.callers) sum += caller.ir;
    EXPECT_EQ(sum, cost.ir) << code.function;
    ++called;
  }
  EXPECT_GE(called, 12U);
}

TEST(CallGraph, ARecursiveFunctionIsNotItsOwnCaller) {
  auto profile = read_profile(fixture("part.callgrind.out"));
  ASSERT_TRUE(profile);
  const auto costs = inclusive_costs(*profile, 1);
  const InclusiveCost* fib = find(costs, "fib");
  ASSERT_NE(fib, nullptr);
  EXPECT_TRUE(fib->is_recursive);
  ASSERT_EQ(fib->callers.size(), 1U);
  EXPECT_EQ(fib->callers[0].code.function, "helper");
  EXPECT_EQ(fib->callers[0].calls, 5);  // for 0 to 4
  EXPECT_FALSE(find(costs, "helper")->is_recursive);
}

// a and b call each other; main is not the snippet's.
constexpr const char* kMutual =
    "events: Ir\nob=u.so\nfn=main\n1 1\ncfn=instr_snippet_x\ncalls=1 1\n1 100\n"
    "fn=instr_snippet_x\n1 10\ncfn=a\ncalls=2 1\n1 90\n"
    "fn=a\n1 20\ncfn=b\ncalls=2 1\n1 70\n"
    "fn=b\n1 15\ncfn=a'2\ncalls=3 1\n1 55\n"
    "fn=a'2\n1 45\ncfn=b'2\ncalls=3 1\n1 30\n"
    "fn=b'2\n1 10\ncfn=a'2\ncalls=9 1\n1 80\n"
    "totals: 101\n";

TEST(CallGraph, MutualRecursionCountsOnce) {
  const auto costs = inclusive_costs(profile_of(kMutual), 2);
  EXPECT_EQ(costs.size(), 3U);
  EXPECT_EQ(find(costs, "main"), nullptr);
  EXPECT_EQ(find(costs, kSnippetName)->ir, 50);
  const InclusiveCost& a = *find(costs, "a");
  EXPECT_EQ(a.ir, 45);
  EXPECT_TRUE(a.is_recursive);
  ASSERT_EQ(a.callers.size(), 1U);
  EXPECT_TRUE(a.callers[0].code.is_snippet());
  EXPECT_EQ(a.callers[0].ir, 45);
  EXPECT_EQ(a.callers[0].calls, 1);
  const InclusiveCost& b = *find(costs, "b");
  EXPECT_EQ(b.ir, 35);
  EXPECT_TRUE(b.is_recursive);
  ASSERT_EQ(b.callers.size(), 1U);
  EXPECT_EQ(b.callers[0].code.function, "a");
  EXPECT_EQ(b.callers[0].ir, 35);
}

TEST(CallGraph, PartsOfAFunctionAreOne) {
  const auto costs = inclusive_costs(
      profile_of("events: Ir\nob=u.so\nfn=f()\n1 10\ncfn=f() [clone .cold]\ncalls=1 1\n1 7\n"
                 "fn=f() [clone .cold]\n1 5\ncfn=g()\ncalls=1 1\n1 2\nfn=g()\n1 2\n"
                 "totals: 17\n"),
      1);
  EXPECT_EQ(find(costs, "f()")->ir, 17);
  EXPECT_TRUE(find(costs, "f()")->callers.empty());
  EXPECT_EQ(find(costs, "g()")->callers[0].code.function, "f()");
}

TEST(CallGraph, CodeWithoutSymbolsIsACallerAlone) {
  const auto costs = inclusive_costs(
      profile_of("events: Ir\nob=u.so\nfn=0x00000010\n1 10\ncfn=g()\ncalls=3 1\n1 6\n"
                 "fn=g()\n1 6\ntotals: 16\n"),
      1);
  EXPECT_EQ(costs.size(), 1U);
  const InclusiveCost& g = *find(costs, "g()");
  EXPECT_EQ(g.ir, 6);
  EXPECT_EQ(g.callers[0].code.function, "u.so: code without symbols");
  EXPECT_EQ(g.callers[0].calls, 3);
}

TEST(CallGraph, OfNothingIsNothing) {
  EXPECT_TRUE(inclusive_costs({}, 1).empty());
  EXPECT_TRUE(inclusive_costs(profile_of("events: Dr\nfn=f\n1 1\ntotals: 1\n"), 1).empty());
  EXPECT_TRUE(inclusive_costs(profile_of(kMutual), 0).empty());
}

}  // namespace
}  // namespace instr
