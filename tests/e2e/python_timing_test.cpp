// Times and verification of snippets in Python.
#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::python_timing_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "PythonTiming.*");

class PythonTiming : public PythonTest {};

constexpr const char* kTimed = R"toml(schema = 1
[[benchmark]]
label = "sleeps"
setup = "auto x = torch::ones({4});"
stmt = "usleep(2000); auto y = x + 1;"
py_setup = "import time; x = torch.ones(4)"
py_stmt = "time.sleep(0.002); y = x + 1"
signature = "f(x) -> y"
iterations = 3

[[benchmark]]
label = "starts a program"
py_setup = """
import os, subprocess, sys
ends = os.pipe()
code = "import os; os.write(%d, b'x')" % ends[1]
subprocess.run([sys.executable, "-c", code], pass_fds=ends[1:], check=True)
x = torch.ones(len(os.read(ends[0], 1)))
"""
py_stmt = "y = x + 1"

[[benchmark]]
label = "registers"
py_global_setup = """
library = torch.library.Library("timed", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: 2 * x, "CompositeExplicitAutograd")
library.impl("twice", torch.empty_like, "Meta")
"""
py_setup = "x = torch.ones(4)"
py_stmt = "y = torch.ops.timed.twice(x)"
signature = "f(x) -> y"

[[benchmark]]
label = "wrong"
py_setup = "x = torch.ones(4)"
py_stmt = "y = x + (2 if torch.jit.is_scripting() else 1)"
torchscript = true
signature = "f(x) -> y"

[[benchmark]]
label = "gradient"
py_setup = "w = torch.ones(3, requires_grad=True)"
py_module = "torch.nn.Linear(3, 2)"
signature = "f(w) -> y"
torchscript = true
autograd = true
reduce = "sum"

[[benchmark]]
label = "raises"
py_setup = "n = 0"
py_stmt = """
n += 1
if n == 5: raise ValueError("five")
"""
)toml";

// Expects a graph with that many breaks of a compiled function, and the reason of a skipped
// backend.
void expect_graphs(const Records& records, const std::string& label, int breaks) {
  const auto record = [&](const std::string& backend) {
    return records.at(label + "/py/" + backend + "/forward/t1/cpu");
  };
  const nlohmann::json metrics = record("aot_eager").at("metrics");
  EXPECT_EQ(metrics.at("graphs"), 1) << label;
  EXPECT_EQ(metrics.at("graph_breaks"), breaks) << label;
  EXPECT_FALSE(record("eager").at("metrics").contains("graphs"));
  EXPECT_EQ(record("tvm").at("outcome"), "skipped");
  EXPECT_HAS(record("tvm").at("reason").get<std::string>(), "needs the package apache-tvm: ");
}

TEST_F(PythonTiming, IsTimedAndVerifiedAsCppIs) {
  write("all.toml", kTimed);
  const CommandResult result = expect_status(
      1, run({"--definitions=" + (folder_.path() / "all.toml").string(), "--format=json", "--quiet",
              "--metrics=wall,first_result,ready,graphs,graph_breaks", "--verify",
              "--repetitions=3", "--min-time=0.001", "--backend=eager,torchscript,aot_eager,tvm",
              "--exclude=gradient/py/.*/forward/"}));
  const auto report = nlohmann::json::parse(result.output);
  Records records;
  for (const auto& one : report.at("measurements")) {
    records[one.at("key").get<std::string>()] = one;
  }
  for (const char* key : {"sleeps/eager/forward/t1/cpu", "sleeps/py/eager/forward/t1/cpu"}) {
    const nlohmann::json& record = records.at(key);
    ASSERT_EQ(record.at("outcome"), "timed") << record;
    EXPECT_GE(record.at("metrics").at("wall").get<double>(), 2e6);
    EXPECT_EQ(record.at("times").at("wall").size(), 3u);
    EXPECT_EQ(record.at("times").at("iterations"), 3);
  }
  EXPECT_EQ(records.at("starts a program/py/eager/forward/t1/cpu").at("outcome"), "timed");
  const auto code_of = [&](const std::string& key) {
    const nlohmann::json& record = records.at(key + "/t1/cpu");
    EXPECT_EQ(record.at("outcome"), "timed") << record;
    return record.at("verification").at("code").get<std::string>();
  };
  EXPECT_EQ(code_of("wrong/py/torchscript/forward"), "FAIL");
  EXPECT_EQ(code_of("registers/py/aot_eager/forward"), "PASS");
  for (const std::string backend : {"torchscript", "aot_eager"}) {
    const std::string gradient = "gradient/py/" + backend + "/forward_backward";
    EXPECT_EQ(code_of(gradient), "PASS");
    const auto& metrics = records.at(gradient + "/t1/cpu").at("metrics");
    EXPECT_GT(metrics.at("ready").get<double>(), metrics.at("wall").get<double>());
  }
  expect_graphs(records, "sleeps", 1);  // Dynamo cannot put a sleep into a graph
  expect_graphs(records, "wrong", 0);
  const nlohmann::json& raises = records.at("raises/py/eager/forward/t1/cpu");
  ASSERT_EQ(raises.at("outcome"), "failed");
  EXPECT_HAS(raises.at("failure").at("message"), "all.toml:55:1: ValueError: five");
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(PythonTiming, FailuresSayWhatIsWrong) {
  write("failing.toml", R"toml(schema = 1
[[benchmark]]
label = "surrogate"
py_stmt = "raise ValueError('\\ud800 is odd')"
[[benchmark]]
label = "guarded"
py_setup = "torch.set_grad_enabled(False); w = torch.ones(3, requires_grad=True)"
py_stmt = "y = w * 2"
signature = "f(w) -> y"
autograd = true
reduce = "sum"
)toml");
  const std::string file = (folder_.path() / "failing.toml").string();
  const std::string output = (folder_.path() / "failing.jsonl").string();
  expect_status(1, run({"--definitions=" + file, "--output=" + output, "--quiet",
                        "--metrics=instructions,wall", "--repetitions=2", "--min-time=0.001"}));
  const Records records = read_results(output);
  const auto message = [&](const std::string& key) {
    return records.at(key).at("failure").at("message").get<std::string>();
  };
  EXPECT_HAS(message("surrogate/py/eager/forward/t1/cpu"), ":4:12: ValueError: \\ud800 is odd");
  EXPECT_HAS(message("guarded/py/eager/forward_backward/t1/cpu"), "gradients are switched off");
}

}  // namespace
}  // namespace instr::e2e::python_timing_test
