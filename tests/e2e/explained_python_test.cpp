// Explanations of statements in Python, natively and by functions of Python.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::explained_python_test {
namespace {

class ExplainedPython : public PythonTest {};
const RunsUnder kNewestLibtorch("newest", "ExplainedPython.*");

TEST_F(ExplainedPython, AFirstCallIsExplainedByItsFunctions) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "first"
warmup = 0
py_global_setup = """
known = {}

def make(): return list(range(50))
def get():
    if "value" not in known: known["value"] = make()
    return known["value"]
"""
py_stmt = "get()"
)toml");
  std::map<std::string, double> calls;
  const auto explanation = explained("first/py/eager/forward/t1/cpu", {"--functions=python"});
  for (const auto& one : explanation.at("functions")) {
    calls[one.at("function")] = one.at("calls").get<double>();
  }
  EXPECT_EQ(calls["get"], 1);
  EXPECT_EQ(calls["make"], 1) << "only the first call makes the value";
}

TEST_F(ExplainedPython, NativeFunctionsAreCalledAsOftenAsTheStatementCallsThem) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "twice"
py_setup = "x = torch.ones(4)"
py_stmt = "torch.relu(x); torch.relu(x)"
)toml");
  double calls = 0;
  const auto explanation = explained("twice/py/eager/forward/t1/cpu");
  for (const auto& one : explanation.at("functions")) {
    const std::string name = one.at("function");
    if (name.starts_with("at::_ops::relu::call(")) calls += one.at("calls").get<double>();
  }
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace instr::e2e::explained_python_test
