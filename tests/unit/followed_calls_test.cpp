#include <gtest/gtest.h>

#include "core/profile/call_graph.h"
#include "core/report/explain.h"

namespace instr::followed_calls_test {
namespace {

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
  EXPECT_NE(table.find("-2,190.7"), std::string::npos) << table;  // 97,145 - (596,617 / 6 - 100.5)
  EXPECT_NE(table.find("in following the calls, not in the count"), std::string::npos) << table;
  EXPECT_NE(table.find("place"), std::string::npos) << table;
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
  EXPECT_NE(table.find("by package:\n"
                       "self  share  package\n"
                       " 500  50.0%  torch/_dynamo\n"
                       " 250  25.0%  sympy\n"
                       " 150  15.0%  other modules\n"
                       " 100  10.0%  torch\n"),
            std::string::npos)
      << table;
}

}  // namespace
}  // namespace instr::followed_calls_test
