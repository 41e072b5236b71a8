#include "core/profile/call_graph.h"

#include <algorithm>
#include <regex>

#include "core/report/explain.h"
#include "tests/testing.h"

namespace instr::call_graph_test {
namespace {

using namespace testing;

Profile profile_of(const std::string& text) { return value_of(parse_profile(text, "x")); }

const InclusiveCost* find(const std::map<CodeName, InclusiveCost>& costs, const std::string& name) {
  for (const auto& [code, cost] : costs) {
    if (code.function == name) return &cost;
  }
  return nullptr;
}

// The costs of callers add up to the cost of the function.
TEST(CallGraph, CallersSharesAddUp) {
  auto profile = value_of(read_profile(fixture("profile/part.callgrind.out")));
  std::size_t called = 0;
  for (const auto& [code, cost] : inclusive_costs(profile, 1)) {
    if (cost.callers.empty() || !cost.ir) continue;
    double sum = 0;
    for (const Caller& caller : cost.callers) sum += caller.ir;
    EXPECT_EQ(sum, cost.ir) << code.function;
    ++called;
  }
  EXPECT_GE(called, 6U);
}

TEST(CallGraph, ARecursiveFunctionIsNotItsOwnCaller) {
  auto profile = value_of(read_profile(fixture("profile/part.callgrind.out")));
  const auto costs = inclusive_costs(profile, 1);
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

TEST(CallGraph, PartsOfAFunctionAreJoined) {
  const auto costs = inclusive_costs(
      profile_of("events: Ir\nob=u.so\nfn=f()\n1 10\ncfn=f() [clone .cold]\ncalls=1 1\n1 7\n"
                 "fn=f() [clone .cold]\n1 5\ncfn=g()\ncalls=1 1\n1 2\nfn=g()\n1 2\n"
                 "totals: 17\n"),
      1);
  EXPECT_EQ(find(costs, "f()")->ir, 17);
  EXPECT_TRUE(find(costs, "f()")->callers.empty());
  EXPECT_EQ(find(costs, "g()")->callers[0].code.function, "f()");
}

// f calls 0x10 of u.so, which calls g, which calls 0x20: both calls contain the cost below g.
TEST(CallGraph, CodeWithoutSymbolsHasCallersButNoInclusiveCost) {
  const auto costs = inclusive_costs(
      profile_of("events: Ir\nob=u.so\nfn=f()\n1 5\ncfn=0x00000010\ncalls=3 1\n1 18\n"
                 "fn=0x00000010\n1 10\ncfn=g()\ncalls=3 1\n1 8\n"
                 "fn=g()\n1 6\ncfn=0x00000020\ncalls=1 1\n1 2\n"
                 "fn=0x00000020\n1 2\ntotals: 23\n"),
      1);
  EXPECT_EQ(costs.size(), 3U);
  EXPECT_EQ(find(costs, "f()")->ir, 23);
  const InclusiveCost& g = *find(costs, "g()");
  EXPECT_EQ(g.ir, 8);
  EXPECT_EQ(g.callers[0].code.function, "u.so: code without symbols");
  EXPECT_EQ(g.callers[0].calls, 3);
  const InclusiveCost& unknown = *find(costs, "u.so: code without symbols");
  EXPECT_FALSE(unknown.ir);
  ASSERT_EQ(unknown.callers.size(), 2U);
  EXPECT_EQ(unknown.callers[0].code.function, "f()");
  EXPECT_EQ(unknown.callers[0].ir, 18);
  EXPECT_EQ(unknown.callers[1].code.function, "g()");
  EXPECT_EQ(unknown.callers[1].ir, 2);
}

// Functions of a global set-up and lambdas of the snippet, which LibTorch calls back, are not
// callers of the snippet; another thread's first function has no caller.
TEST(CallGraph, LeavesOutCallersOfTheSnippet) {
  const auto costs = inclusive_costs(
      profile_of(
          "events: Ir\nob=u.so\nfn=main\n1 1\ncfn=instr_snippet_x\ncalls=1 1\n1 100\n"
          "fn=instr_snippet_x\n1 10\ncfn=a\ncalls=1 1\n1 90\n"
          "fn=a\n1 60\ncfn=instr_snippet_x(instr_context*)::{lambda()#1}::operator()() const\n"
          "calls=1 1\n1 20\ncfn=main'2\ncalls=1 1\n1 10\n"
          "fn=instr_snippet_x(instr_context*)::{lambda()#1}::operator()() const\n1 20\n"
          "fn=main'2\n1 10\nfn=start_thread\n1 7\ntotals: 108\n"),
      1);
  EXPECT_EQ(costs.size(), 3U);
  EXPECT_EQ(find(costs, "main"), nullptr);
  EXPECT_EQ(find(costs, "a")->ir, 90);
  EXPECT_EQ(find(costs, "start_thread")->ir, 7);
  EXPECT_TRUE(find(costs, kSnippetName)->callers.empty());
}

TEST(CallGraph, IsEmptyWithoutAProfile) {
  EXPECT_TRUE(inclusive_costs({}, 1).empty());
  EXPECT_TRUE(inclusive_costs(profile_of("events: Dr\nfn=f\n1 1\ntotals: 1\n"), 1).empty());
  EXPECT_TRUE(inclusive_costs(profile_of(kMutual), 0).empty());
}

// --- Followed calls of Python ---

// The output of a worker on CPython 3.11 and LibTorch 2.13.0: twice(torch.nn.Linear(4, 4), x) and a
// factorial of 5, six times.
constexpr const char* kText =
    R"({"functions": [{"code": null, "self": 41763, "inclusive": 596617, "calls": 0, "recursive": false},
{"code": {"name": "twice", "file": "<snippet>", "line": 100001}, "self": 12672, "inclusive": 534670, "calls": 6, "recursive": false},
{"code": {"name": "Module._wrapped_call_impl", "file": "torch/nn/modules/module.py", "line": 1774}, "self": 31560, "inclusive": 521998, "calls": 12, "recursive": false},
{"code": {"name": "Module._call_impl", "file": "torch/nn/modules/module.py", "line": 1782}, "self": 63996, "inclusive": 490438, "calls": 12, "recursive": false},
{"code": {"name": "Linear.forward", "file": "torch/nn/modules/linear.py", "line": 130}, "self": 393986, "inclusive": 426442, "calls": 12, "recursive": false},
{"code": {"name": "Module.__getattr__", "file": "torch/nn/modules/module.py", "line": 1954}, "self": 32456, "inclusive": 32456, "calls": 24, "recursive": false},
{"code": {"name": "fact", "file": "<snippet>", "line": 100004}, "self": 20184, "inclusive": 20184, "calls": 30, "recursive": true}],
"calls": [[0, 1, 534670, 6], [0, 6, 20184, 6], [1, 2, 521998, 12], [2, 3, 490438, 12], [3, 4, 426442, 12], [4, 5, 32456, 24], [6, 6, 0, 24]]})";

std::vector<FollowedFunction> followed(std::string_view text = kText,
                                       std::uint64_t iterations = 6) {
  return followed_calls(text, iterations, 100.5, [](const std::string& file, int line) {
    return file + ":" + std::to_string(line);
  });
}

TEST(FollowedCalls, ArePerIteration) {
  const auto functions = followed();
  ASSERT_EQ(functions.size(), 7U);
  const FollowedFunction& statement = functions[0];
  EXPECT_TRUE(statement.code.is_snippet());
  EXPECT_EQ(statement.self, 6860);  // 41,763 / 6 - 100.5
  EXPECT_EQ(statement.calls, 0);
  EXPECT_EQ(functions[4].code, (CodeName{"Linear.forward", "torch/nn/modules/linear.py:130"}));
  EXPECT_EQ(functions[4].calls, 2);
  EXPECT_EQ(functions[4].cost.ir, 426442 / 6.0);
  ASSERT_EQ(functions[4].cost.callers.size(), 1U);
  EXPECT_EQ(functions[4].cost.callers[0].code.function, "Module._call_impl");
  double sum = 0;
  for (const FollowedFunction& function : functions) sum += function.self;
  EXPECT_NEAR(sum, *statement.cost.ir, 1e-9);
}

TEST(FollowedCalls, ARecursiveFunctionIsNotItsOwnCaller) {
  const FollowedFunction factorial = followed()[6];
  EXPECT_TRUE(factorial.cost.is_recursive);
  EXPECT_EQ(factorial.calls, 5);
  EXPECT_EQ(factorial.cost.ir, factorial.self);
  ASSERT_EQ(factorial.cost.callers.size(), 1U);
  EXPECT_TRUE(factorial.cost.callers[0].code.is_snippet());
  EXPECT_EQ(factorial.cost.callers[0].calls, 1);
}

TEST(FollowedCalls, AreEmptyForAMalformedText) {
  const std::string text = kText;
  for (std::size_t length = 0; length < text.size(); length += 7) {
    EXPECT_TRUE(followed(text.substr(0, length)).empty()) << length;
  }
  EXPECT_TRUE(followed(kText, 0).empty());
  EXPECT_TRUE(followed(R"({"functions": [], "calls": [[0, 1, 5, 5]]})").empty());
  EXPECT_TRUE(followed(R"({"functions": [{"code": 3}], "calls": []})").empty());
}

TEST(FollowedCalls, ADifferenceFromTheCountIsASeparateLine) {
  Counted counted;
  counted.metrics = {{"instructions", 97145}};
  counted.iterations = 6;
  const auto explanation = explain_followed("linear", counted, followed());
  const std::string table = explain_report(ReportFormat::kTable, explanation);
  EXPECT_HAS(table, "-2,190.7");  // 97,145 - (596,617 / 6 - 100.5)
  EXPECT_HAS(table, "in following the calls, not in the count");
  EXPECT_HAS(table, "place");
  EXPECT_EQ(explanation.functions.front().code.function, "Linear.forward");
}

TEST(FollowedCalls, AreAddedUpByPackage) {
  const auto function = [](const char* place, double self) {
    FollowedFunction made;
    made.code = {.function = "f", .object = place};
    made.self = self;
    return made;
  };
  Counted counted;
  counted.metrics = {{"instructions", 1000}};
  counted.iterations = 1;
  const auto explanation = explain_followed(
      "k", counted,
      {function("torch/_dynamo/guards.py:7", 300), function("torch/_dynamo/utils.py:1", 200),
       function("torch/_tensor.py:3", 100), function("sympy/core/expr.py:12", 250),
       function("contextlib.py:5", 50), function("quick.toml:3:1", 100)});
  const std::string table = explain_report(ReportFormat::kTable, explanation);
  EXPECT_HAS(table,
             "by package:\n"
             "self  share  package\n"
             " 500  50.0%  torch/_dynamo\n"
             " 250  25.0%  sympy\n"
             " 150  15.0%  other modules\n"
             " 100  10.0%  torch\n");
}

}  // namespace
}  // namespace instr::call_graph_test
