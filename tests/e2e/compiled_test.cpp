// Experiments on snippets in Python that torch.compile() compiles.
#include "tests/e2e/tested_program.h"

namespace instr::e2e::compiled_test {
namespace {

// Dynamo cannot put the call of time.sleep() into a graph; a growing argument fails a guard.
constexpr const char* kDefinitions = R"toml(schema = 1
[[benchmark]]
label = "sleeps"
py_setup = "import time; x = torch.ones(4)"
py_stmt = """
y = x + 1
time.sleep(0)
y = y * 2
"""
signature = "f(x) -> y"

[[benchmark]]
label = "grows"
py_setup = "x = torch.ones(4); n = [0]"
py_stmt = """
n[0] += 1
y = x + n[0]
"""
signature = "f(x, n) -> y"
)toml";

class Compiled : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_python()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
    folder_.write("d.toml", kDefinitions);
  }

  Records experiment(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"experiment", "--definitions=" + (folder_.path() / "d.toml").string(),
                 "--output=" + (folder_.path() / "r.jsonl").string(), "--min-time=0.001",
                 "--repetitions=2", "--test=eval"});
    const CommandResult result = run(std::move(more));
    Records records;
    for (const std::string& line : split_lines(text_of(folder_.path() / "r.jsonl"))) {
      auto json = nlohmann::json::parse(line);
      if (json.contains("key")) records.emplace(json.at("key").get<std::string>(), json);
    }
    EXPECT_FALSE(records.empty()) << result.errors;
    return records;
  }

  TemporaryFolder folder_;
};

TEST_F(Compiled, ReportsWhatItCouldNotCompile) {
  const Records records = experiment({"--backend=aot_eager", "--collect-counters"});
  const nlohmann::json& sleeps = records.at("sleeps/py/aot_eager/forward/t1/cpu");
  ASSERT_EQ(sleeps.at("outcome"), "timed") << sleeps;
  EXPECT_EQ(sleeps.at("metrics").at("graphs"), 2);
  EXPECT_EQ(sleeps.at("metrics").at("graph_breaks"), 1);
  EXPECT_EQ(sleeps.at("metrics").at("recompilations"), 0);
  EXPECT_EQ(sleeps.at("metrics").at("frames"), 2);
  EXPECT_EQ(sleeps.at("metrics").at("frames_compiled"), 2);
  ASSERT_EQ(sleeps.at("compiler").at("graph_breaks").size(), 1u);
  const nlohmann::json& reason = sleeps.at("compiler").at("graph_breaks").at(0);
  EXPECT_HAS(reason.at("place").get<std::string>(), "d.toml:7:") << reason;
  EXPECT_HAS(reason.at("reason").get<std::string>(), "sleep") << reason;
  EXPECT_EQ(sleeps.at("compiler").at("counters").at("stats").at("unique_graphs"), 2);

  const nlohmann::json& grows = records.at("grows/py/aot_eager/forward/t1/cpu");
  EXPECT_GE(grows.at("metrics").at("recompilations").get<int>(), 1) << grows;
  EXPECT_GE(grows.at("metrics").at("guard_failures").get<int>(), 1);
  ASSERT_GE(grows.at("compiler").at("recompilations").size(), 1u);
  EXPECT_HAS(grows.at("compiler").at("recompilations").at(0).at("reason").get<std::string>(),
             "n[0]")
      << grows;
  const nlohmann::json& eager = records.at("grows/py/eager/forward/t1/cpu");
  EXPECT_FALSE(eager.at("metrics").contains("frames"));
  EXPECT_FALSE(eager.contains("compiler"));
}

// Three operators are in the two graphs, one is outside.
TEST_F(Compiled, MeasuresTheCoverageAndFailsOnGraphBreaks) {
  const std::string definitions = folder_
                                      .write("d.toml", R"toml(schema = 1
[[benchmark]]
label = "torn"
py_setup = """
x = torch.ones(4)
@torch._dynamo.disable
def outside(x):
    return torch.sin(x)
"""
py_stmt = """
y = outside(torch.relu(x + 1))
y = y * 2
"""
signature = "f(x) -> y"

[[benchmark]]
label = "whole"
py_setup = "x = torch.ones(4)"
py_stmt = "y = x + 1"
signature = "f(x) -> y"
)toml")
                                      .string();
  const auto with = [&](const std::string& filter, const std::vector<std::string>& options) {
    std::vector<std::string> words{"experiment",
                                   "--definitions=" + definitions,
                                   "--min-time=0.001",
                                   "--repetitions=2",
                                   "--test=eval",
                                   "--backend=dynamo",
                                   "--coverage",
                                   "--no-warm-compile",
                                   "--output=" + (folder_.path() / "r.jsonl").string()};
    words.push_back("--filter=" + filter);
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  const CommandResult torn = expect_status(3, with(".", {"--fail-on-graph-break"}));
  EXPECT_HAS(torn.output, "least in graphs of torch.compile()");
  EXPECT_HAS(torn.output, "d.toml:11:");
  EXPECT_HAS(torn.output, "75.0%");
  std::map<std::string, nlohmann::json> records;
  for (const std::string& line : split_lines(text_of(folder_.path() / "r.jsonl"))) {
    auto json = nlohmann::json::parse(line);
    if (json.contains("key")) records[json.at("key").get<std::string>()] = json;
  }
  const auto share_of = [&](const std::string& model, const char* metric) {
    return records.at(model + "/py/dynamo/forward/t1/cpu").at("metrics").at(metric).get<double>();
  };
  EXPECT_EQ(share_of("torn", "coverage_operators"), 0.75);
  EXPECT_GT(share_of("torn", "coverage_time"), 0);
  EXPECT_LT(share_of("torn", "coverage_time"), 1);
  EXPECT_EQ(share_of("whole", "coverage_operators"), 1);
  EXPECT_EQ(share_of("whole", "coverage_time"), 1);
  expect_status(0, with("whole", {"--fail-on-graph-break"}));
  EXPECT_HAS(expect_status(3, with("whole", {"--fail-on-flag", "--flag-compile=1e-9"})).errors,
             "1 experiment beyond --flag-speedup");
}

TEST_F(Compiled, TheBackendOfEachGraphIsTheFastestThatIsRight) {
  folder_.write("d.toml", R"toml(schema = 1
[[backend]]
name = "best_of_two"
import = "instr_best:best"
options = { candidates = ["aot_eager", "wrong"] }

[[benchmark]]
label = "torn"
py_global_setup = """
import time
import torch._dynamo

@torch._dynamo.register_backend
def wrong(graph, inputs):
    return lambda *values: [value * 2 for value in graph(*values)]
"""
py_setup = "x = torch.rand(64, 64).requires_grad_()"
py_stmt = """
y = torch.relu(x + 1)
time.sleep(0)
y = y.sin().sum()
"""
signature = "f(x) -> y"
)toml");
  const Records records = experiment({"--backend=best,best_of_two", "--no-warm-compile"});
  for (const std::string backend : {"best", "best_of_two"}) {
    const nlohmann::json& one = records.at("torn/py/" + backend + "/forward/t1/cpu");
    ASSERT_EQ(one.at("outcome"), "timed") << one;
    EXPECT_EQ(one.at("verification").at("code"), "PASS");
    const nlohmann::json& choices = one.at("compiler").at("choices");
    EXPECT_EQ(choices.size(), 2u) << choices;
    for (const nlohmann::json& choice : choices) {
      const std::string chosen = choice.at("chosen").get<std::string>();
      EXPECT_TRUE(choice.at("times").contains(chosen)) << choice;
      EXPECT_TRUE(choice.at("times").contains("eager")) << choice;
      EXPECT_TRUE(choice.at("times").contains("aot_eager")) << choice;
      const bool has_wrong = choice.contains("failures") && choice.at("failures").contains("wrong");
      EXPECT_EQ(has_wrong, backend != "best") << choice;
    }
  }
}

// The first compilation is timed, verified and reported; the second one uses its code.
TEST_F(Compiled, IsCompiledColdAndWarm) {
  const std::string dumps = (folder_.path() / "dumps").string();
  const Records records = experiment({"--backend=inductor", "--filter=sleeps", "--collect-counters",
                                      "--dump=graph,code,breaks,profile", "--dump-dir=" + dumps});
  const nlohmann::json& one = records.at("sleeps/py/inductor/forward/t1/cpu");
  ASSERT_EQ(one.at("outcome"), "timed") << one;
  EXPECT_EQ(one.at("verification").at("code"), "PASS");
  const nlohmann::json& metrics = one.at("metrics");
  EXPECT_GT(metrics.at("compile_time").get<double>(), 0);
  EXPECT_GT(metrics.at("warm_compile_time").get<double>(), 0);
  const auto cpu_time = [&](const char* name) { return metrics.at(name).get<double>(); };
  EXPECT_LT(cpu_time("warm_compile_cpu_time"), cpu_time("compile_cpu_time"));
  EXPECT_EQ(one.at("times").at("eager").size(), 2u);
  EXPECT_EQ(one.at("compiler").at("counters").at("inductor").at("fxgraph_cache_miss"), 2)
      << one.at("compiler").at("counters");
  EXPECT_FALSE(one.at("compiler").at("counters").at("inductor").contains("fxgraph_cache_hit"));
  const fs::path folder = fs::path(dumps) / "sleeps.py.inductor.forward.t1.cpu";
  for (const auto& [file, content] : {std::pair{"graph.before.txt", "torch.nn.Module"},
                                      {"graph.after.txt", "torch.ops.aten"},
                                      {"code.txt", "cpp_fused"},
                                      {"breaks.txt", "sleep"},
                                      {"counters.txt", "graph_breaks 1\n"},
                                      {"profile.txt", "operator"}}) {
    EXPECT_HAS(text_of(folder / file), content) << file;
  }
}

// The process that is timed has one core, the one that verifies has all.
TEST_F(Compiled, InductorHasAThreadForEachCoreOfItsProcessAndNoCompileWorkers) {
  const fs::path file = folder_.write("d.toml", R"toml(schema = 1
[[benchmark]]
label = "cores"
py_setup = """
import os, torch._inductor.config
from torch._inductor.async_compile import AsyncCompile
threads, cores = torch._inductor.config.compile_threads, os.sched_getaffinity(0)
assert threads == len(cores), f"{threads} threads for {len(cores)} cores"
AsyncCompile.use_process_pool()
assert AsyncCompile.process_pool.cache_info().currsize == 0, "there are compile workers"
x = torch.ones(4)
"""
py_stmt = "y = x + 1"
signature = "f(x) -> y"
)toml");
  expect_status(0, run({"run", "--definitions=" + file.string(), "--metrics=wall", "--verify",
                        "--backend=inductor", "--repetitions=2", "--min-time=0.001"}));
}

TEST_F(Compiled, CanLeaveOutTheSecondCompilation) {
  const Records records =
      experiment({"--backend=aot_eager", "--filter=sleeps", "--no-warm-compile"});
  const nlohmann::json& metrics = records.at("sleeps/py/aot_eager/forward/t1/cpu").at("metrics");
  EXPECT_GT(metrics.at("compile_time").get<double>(), 0);
  EXPECT_FALSE(metrics.contains("warm_compile_time")) << metrics;
}

// The verification ends the process in which the times were taken.
TEST_F(Compiled, AVerificationThatCrashesKeepsTheTimes) {
  folder_.write("d.toml", R"toml(schema = 1
[[benchmark]]
label = "crashes"
py_setup = """
x = torch.ones(4)
if 'instr_verification_' in locals():
    import os
    os.abort()
"""
py_stmt = "y = x + 1"
signature = "f(x) -> y"
)toml");
  const Records records = experiment({"--backend=aot_eager", "--no-warm-compile"});
  const nlohmann::json& crashes = records.at("crashes/py/aot_eager/forward/t1/cpu");
  EXPECT_EQ(crashes.at("outcome"), "timed") << crashes;
  EXPECT_EQ(crashes.at("times").at("wall").size(), 2u);
  EXPECT_EQ(crashes.at("verification").at("code"), "VERIFIER_DIDNT_RUN");
  EXPECT_HAS(crashes.at("verification").at("reason").get<std::string>(), "in the eager run: ");
}

}  // namespace
}  // namespace instr::e2e::compiled_test
