// Counts of calls of functions that torch.compile() has made.

#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::compiled_counts_test {
namespace {

class CompiledCounts : public PythonTest {};
const RunsUnder kNewestLibtorch("newest", "CompiledCounts.*");

const std::string kCompiling = R"toml(
[[benchmark]]
label = "compile"
py_setup = "a = torch.ones(8)"
py_stmt = "torch.compile(lambda a: torch.relu(a + 1) * 2, backend='eager')(a)"
compiles = true
)toml";

// The second run finds the compiler's cache filled, and another heap, environment and order.
TEST_F(CompiledCounts, AreExactAndGated) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "add"
py_setup = "a = torch.ones(8, requires_grad=True)"
py_stmt = "c = torch.relu(a + 1) * 2"
signature = "f(a) -> c"
autograd = true
reduce = "sum"
)toml" + kCompiling);
  const Records first = counted({"--backend=eager,aot_eager"});
  EXPECT_EQ(first.size(), 5U);
  const auto& compiling = first.at("compile/py/eager/forward/t1/cpu").at("metrics");
  EXPECT_GT(compiling.at("compile_instructions"), 1e6);
  EXPECT_LT(compiling.at("compile_instructions"), compiling.at("instructions"));
  for (const auto& [key, record] : first) {
    EXPECT_TRUE(record.at("steady")) << record;
    EXPECT_TRUE(record.at("gated")) << record;
  }
  const Records again = counted(
      {"--backend=eager,aot_eager", "--jobs=1"},
      {"INSTR_TEST_REVERSE=1", "INSTR_TEST_CHURN=5000", "LONGER=" + std::string(3000, 'x')});
  for (const auto& [key, record] : again) {
    EXPECT_EQ(record.at("metrics"), first.at(key).at("metrics")) << key;
    EXPECT_EQ(record.at("blocks"), first.at(key).at("blocks")) << key;
  }
}

TEST_F(CompiledCounts, CompilingOfAnyFunctionIsCountedWithFunctionsOfPython) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "add"
py_setup = "a = torch.ones(8)"
py_stmt = "c = a + 1"
signature = "f(a) -> c"
)toml");
  const Records records =
      counted({"--backend=dynamo", "--metrics=compile_instructions", "--functions=python"});
  ASSERT_EQ(records.size(), 1U);
  const std::string key = "add/compile=cold/py/dynamo/forward/t1/cpu";
  const auto& record = records.at(key);
  EXPECT_TRUE(record.at("steady"));
  EXPECT_GT(record.at("metrics").at("compile_instructions"), 1e6);
  const auto explanation = explained_results(key);
  EXPECT_HAS(explanation.dump(), "CheckFunctionManager.__init__");
  double sum = 0;
  for (const auto& function : explanation.at("functions")) {
    sum += function.at("self").get<double>();
    EXPECT_EQ(function.at("object").get<std::string>().find(':'), std::string::npos) << function;
  }
  EXPECT_NEAR(sum / record.at("metrics").at("instructions").get<double>(), 1, 1e-9);
}

// Dynamo, too, has the interpreter call another evaluator of frames.
TEST_F(CompiledCounts, CompilingIsExplainedByItsFunctions) {
  write("all.toml", "schema = 1\n" + kCompiling);
  const auto explanation = explained("compile", {"--functions=python"});
  double sum = 0, dynamo = 0;
  for (const auto& function : explanation.at("functions")) {
    const double self = function.at("self");
    sum += self;
    const std::string place = function.at("object");
    if (place.starts_with("torch/_dynamo/")) dynamo += self;
  }
  const double count = explanation.at("instructions");
  EXPECT_NEAR(sum / count, 1, 0.1);  // following costs, too
  EXPECT_GT(dynamo, count / 3);
}

// The statement shows by its count whether its process has found the compiler's cache filled.
TEST_F(CompiledCounts, FindTheCacheFilledAfterAModuleWasEdited) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "mine"
py_setup = """
import edited
from torch._dynamo.utils import counters
f = torch.compile(edited.f)
a = torch.ones(8)
f(a)
misses = counters["inductor"]["fxgraph_cache_miss"]
"""
py_stmt = """
f(a)
for _ in range(1000 * misses): pass
"""
)toml");
  const fs::path modules = folder_.path() / "modules";
  const auto count = [&] {
    const Records records = counted({}, {"PYTHONPATH=" + modules.string()});
    const auto& record = records.at("mine/py/eager/forward/t1/cpu");
    return record.at("metrics").at("instructions").get<double>();
  };
  write("modules/edited.py", "import torch\ndef f(a): return torch.relu(a + 1)\n");
  const double before = count();
  // Edited in place: the folder's own time stays.
  testing::write(modules / "edited.py", "import torch\ndef f(a): return torch.relu(a + 20)\n");
  EXPECT_NEAR(count() / before, 1, 0.01);
}

TEST_F(CompiledCounts, StatementsThatDoNotCompileFailAlone) {
  const fs::path definitions = write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "nothing"
py_setup = "a = torch.ones(8)"
py_stmt = "a + 1"
compiles = true

[[benchmark]]
label = "graph break"
py_setup = "a = torch.ones(8)"
py_stmt = "torch.compile(lambda a: print(a), backend='eager', fullgraph=True)(a)"
compiles = true
)toml" + kCompiling);
  const CommandResult result =
      expect_status(1, run({"--definitions=" + definitions.string(), "--quiet"}));
  EXPECT_HAS(result.output, "the statement compiled nothing");
  EXPECT_HAS(result.output, "all.toml:11:");  // where the exception comes from
  EXPECT_HAS(result.output, "1 counted; 2 failed");
}

}  // namespace
}  // namespace instr::e2e::compiled_counts_test
