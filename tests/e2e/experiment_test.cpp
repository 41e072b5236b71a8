// The experiment runner and --dump, on the real native worker.

#include <signal.h>

#include <cctype>

#include "tests/e2e/experiment_file_reader.h"
#include "tests/labels.h"

namespace instr::e2e::experiment_test {
namespace {

const RunsUnder kAddressSanitizer("address", "Experiment.ComparesCodes*");
const RunsUnder kNewestLibtorch("newest", "Experiment.MeasuresTheProduct*");

const char* const kDefinitions = R"toml(schema = 1
[[benchmark]]
label = "relu"
setup = "auto x = torch::rand({{batch_size}, 64}).requires_grad_();"
signature = "f(x) -> y"
stmt = "auto y = torch::relu(x * 2 + 1);"
torchscript = "y = torch.relu(x * 2 + 1)"
autograd = true
reduce = "sum"
matrix = { batch_size = [4] }
[[benchmark]]
label = "wrong"
setup = "auto x = torch::rand({16, 16});"
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = x + 2"
[[benchmark]]
label = "crashing"
stmt = "raise(SIGSEGV);"
global_setup = "#include <csignal>"
)toml";

// Process ids of the children of this process.
std::vector<std::string> children_of(pid_t parent) {
  std::vector<std::string> children;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (!std::isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0]))) continue;
    std::string stat = text_of(entry.path() / "stat");  // "pid (name) state parent ..."
    auto end = stat.rfind(')');
    bool is_child =
        end != std::string::npos && stat.substr(end + 4).starts_with(std::to_string(parent) + " ");
    if (is_child) children.push_back(entry.path().filename().string());
  }
  return children;
}

class Experiment : public ExperimentFixture {
 protected:
  Experiment() { write(file("d.toml"), kDefinitions); }
};

TEST_F(Experiment, ComparesCodesWithExpectedOnes) {
  const std::string codes = "--expect-codes=" + file("codes.csv");
  const std::vector<std::string> options{codes, "--filter=^wrong"};
  auto with_codes = [&](const std::string& more) {
    auto words = options;
    if (!more.empty()) words.push_back(more);
    return run(with(words));
  };
  EXPECT_EQ(with_codes("").exit_code, 2);  // there is no such file
  expect_status(1, with_codes("--update-expected-codes"));
  const std::string frozen = "wrong/frozen/forward/t1/cpu,FAIL\n";
  const std::string key = "wrong/torchscript/forward/t1/cpu,";
  EXPECT_EQ(text_of(file("codes.csv")), "key,code\n" + frozen + key + "FAIL\n");
  EXPECT_HAS(expect_status(0, with_codes("")).output, "2 as expected");
  write(file("codes.csv"), "key,code\n" + key + "PASS\n");
  auto worse = expect_status(3, with_codes(""));
  EXPECT_HAS(worse.output,
             "worse than expected:\n- wrong/torchscript/forward/t1/cpu: FAIL, "
             "expected PASS (largest difference 1 at");
}

TEST_F(Experiment, MeasuresTheProductAndSummarizesIt) {
  auto ended = expect_status(
      1, run(with({"--dtype=float32,float64",
                   "--batch-size=8"})));  // one computes a different result, one crashes
  auto lines = records();
  // relu: 2 types, eager and TorchScript forward and train, frozen only forward; wrong: 2
  // types, 3 backends; crashing: 2 types, eager.
  EXPECT_EQ(lines.size(), 2u * 5 + 2 * 3 + 2);
  const auto& one = lines.at("relu/batch_size=8/dtype=float64/torchscript/forward_backward/t1/cpu");
  EXPECT_EQ(code_name(one), "PASS");
  EXPECT_EQ(find_timing(one)->of(kWall).size(), 3u);
  EXPECT_GT(metric_of(one, "compile_time"), 0);
  EXPECT_GE(metric_of(one, "graphs"), 1);
  EXPECT_GT(metric_of(one, "operators_cpu"), 0);
  // x * 2 is alive while + 1 is computed: two tensors of 8 x 64 doubles, and little more.
  const auto& eager = lines.at("relu/batch_size=8/dtype=float64/eager/forward/t1/cpu");
  EXPECT_GE(metric_of(eager, "peak_bytes"), 2 * 8 * 64 * 8);
  EXPECT_LT(metric_of(eager, "peak_bytes"), 4 * 8 * 64 * 8);
  const auto& narrow = lines.at("relu/batch_size=8/dtype=float32/eager/forward/t1/cpu");
  EXPECT_LT(metric_of(narrow, "peak_bytes"), 3 * 8 * 64 * 4 + 1024);
  EXPECT_EQ(code_name(lines.at("wrong/dtype=float32/frozen/forward/t1/cpu")), "FAIL");
  EXPECT_HAS(reason_of(lines.at("crashing/dtype=float32/eager/forward/t1/cpu")), "SIGSEGV");
  EXPECT_HAS(ended.output, "2 of 3 (67%)");
  EXPECT_HAS(ended.output, "eval float64\n");
  EXPECT_TRUE(stray_processes().empty());
}

// A load on all cores from the middle of the repetitions, and still there when they are repeated.
TEST_F(Experiment, ALoadThatStartsHalfwayIsNoticed) {
  write_definitions_with_marker(R"toml(schema = 1
global_setup = """
#include <fcntl.h>
static int runs = 0;
"""
[[benchmark]]
label = "loaded"
setup = "auto x = torch::rand({4});"
signature = "f(x) -> y"
stmt = """
for (volatile int i = 0; i < 50'000'000;) i = i + 1;
if (++runs == 5) open("FILE", O_CREAT | O_WRONLY, 0600);
auto y = x + 1;
"""
torchscript = "y = x + 1"
)toml");
  auto process = start_until_marker({"--iterations-per-run=1", "--repetitions=10"});
  std::vector<std::jthread> load;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    load.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  EXPECT_EQ(to_exit_code(process.wait()), 0);
  EXPECT_GT(find_timing(records().at("loaded/frozen/forward/t1/cpu"))->others, 0.2);
  const auto shown = run(with({"--iterations-per-run=1", "--repetitions=10"}));
  EXPECT_HAS(shown.output, "~ speed-ups that cannot be trusted:");
  EXPECT_HAS(shown.output, "other processes used");
}

// In one process both would fail the second time.
TEST_F(Experiment, ASetupThatRunsOnlyOnceInAProcessIsMeasuredAlone) {
  write(file("d.toml"), R"toml(schema = 1
[[benchmark]]
label = "once"
global_setup = "static int set_ups = 0;"
setup = "if (++set_ups != 1) throw std::runtime_error(\"set up twice\"); auto x = torch::rand({4});"
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = x + 1"
)toml");
  run(with({}));
  const auto measured = records();
  EXPECT_EQ(measured.size(), 3u);
  for (const auto& [key, record] : measured) EXPECT_EQ(ending_of(record), "measured") << key;
}

// The current experiment fails, the next ones have a new worker, and the same command measures it
// again. The failure of a snippet itself is final.
TEST_F(Experiment, AWorkerKilledFromOutsideIsReplaced) {
  write_definitions_with_marker(R"toml(schema = 1
global_setup = "#include <csignal>\n#include <fcntl.h>\n#include <unistd.h>"
[[benchmark]]
label = "first"
stmt = "auto x = torch::rand({4});"
[[benchmark]]
label = "lost"
stmt = "if (open(\"FILE\", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) pause();"
[[benchmark]]
label = "kills itself"
stmt = "raise(SIGKILL);"
[[benchmark]]
label = "too large"
stmt = "auto x = torch::zeros({1l << 46});"
[[benchmark]]
label = "last"
stmt = "auto x = torch::rand({4});"
)toml");
  auto process = start_until_marker();
  for (const std::string& worker : children_of(process.pid())) ::kill(std::stoi(worker), SIGKILL);
  EXPECT_EQ(to_exit_code(process.wait()), 1);
  auto reason = [this](const std::string& label) {
    return ending_of(records().at(label + "/eager/forward/t1/cpu"));
  };
  EXPECT_EQ(reason("first"), "measured");
  EXPECT_EQ(reason("lost").substr(0, 13), "worker_lost: ");
  EXPECT_EQ(reason("kills itself").substr(0, 9), "crashed: ");
  EXPECT_HAS(reason("kills itself"), "d.toml:11:");
  EXPECT_HAS(reason("kills itself"), "SIGKILL");
  EXPECT_EQ(reason("too large").substr(0, 15), "out_of_memory: ");
  EXPECT_EQ(reason("last"), "measured");
  EXPECT_HAS(expect_status(1, run(with({"--verbose"}))).errors, "4 of 5 are already there");
  EXPECT_EQ(reason("lost"), "measured");
  EXPECT_EQ(records().size(), 5u);
  EXPECT_TRUE(stray_processes().empty());
}

// A result is only used again for what it was measured of.
TEST_F(Experiment, WhatHasChangedIsMeasuredAgain) {
  write(file("value.h"), "constexpr int kValue = 1;\n");
  std::string definitions = R"toml(schema = 1
[build]
include_dirs = ["."]
[[benchmark]]
label = "a"
global_setup = "#include \"value.h\""
setup = "auto x = torch::ones({4});"
signature = "f(x) -> y"
stmt = "auto y = x + kValue;"
torchscript = "y = x + 1"
[[benchmark]]
label = "b"
setup = "auto x = torch::ones({4});"
signature = "f(x) -> y"
stmt = "auto y = x * 2;"
torchscript = "y = x * 2"
)toml";
  write(file("d.toml"), definitions);
  const auto again = [this](int status, std::vector<std::string> more = {},
                            const std::vector<std::string>& variables = {}) {
    more.emplace_back("--verbose");
    const auto ended = expect_status(status, run(with(std::move(more)), variables));
    return ended.errors;
  };
  again(0);
  EXPECT_HAS(again(0), "6 of 6 are already there");
  const auto listed = run(with({"--dry-run"}));
  EXPECT_HAS(listed.output, "0 would be measured; 6 measured already");
  write(file("value.h"), "constexpr int kValue = 2;\n");
  EXPECT_HAS(again(1), "3 of 6 are measured again, since this has changed: the file " +
                           file("value.h") + " (3)");
  EXPECT_HAS(again(1, {}, {"MY_BACKEND_FLAG=1"}),
             "6 of 6 are measured again, since this has changed: the environment variable "
             "MY_BACKEND_FLAG (6)");
  write(file("d.toml"), definitions.replace(definitions.find("x * 2"), 5, "x * 3"));
  EXPECT_HAS(again(1, {}, {"MY_BACKEND_FLAG=1"}),
             "3 of 6 are measured again, since this has "
             "changed: the definition (3)");
  EXPECT_HAS(again(1, {"--filter=^b", "--repetitions=4"}, {"MY_BACKEND_FLAG=1"}),
             "the number of runs or iterations (3)");
}

TEST_F(Experiment, TwoFilesAreComparedLikeRuns) {
  const auto measure = [this](const std::string& name, const std::string& script,
                              const std::vector<std::string>& more = {}) {
    write(file("d.toml"), R"toml(schema = 1
[[benchmark]]
label = "sum"
setup = "auto x = torch::rand({16, 16});"
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = )toml" + script +
                              "\"\n");
    std::vector<std::string> options{"--output=" + file(name), "--backend=torchscript"};
    options.insert(options.end(), more.begin(), more.end());
    return run(words(options));
  };
  measure("before.jsonl", "x + 1");
  const std::string baseline = "--baseline=" + file("before.jsonl");
  expect_refused(measure("before.jsonl", "x + 1", {baseline}), "the file that the results go to");
  expect_status(0, measure("same.jsonl", "x + 1", {baseline}));
  EXPECT_HAS(expect_status(3, measure("after.jsonl", "x + 2", {baseline})).output,
             "verification PASS, then FAIL: largest difference 1 at");
  expect_status(0, run({"compare", file("before.jsonl"), file("before.jsonl")}));
  EXPECT_HAS(expect_status(3, run({"compare", file("before.jsonl"), file("after.jsonl")})).output,
             "verification PASS, then FAIL: largest difference 1 at");
  expect_status(0, run({"history", "add", file("before.jsonl"), "--commit=HEAD",
                        "--history=" + file("h.db")}));
}

TEST_F(Experiment, TakesAFileAndListsWithoutMeasuring) {
  write(file("e.toml"), "filter = \"relu\"\nbackend = \"frozen\"\ntest = \"eval\"\n");
  auto listed = expect_status(
      0, run({"experiment", file("e.toml"), "--dry-run", "--definitions=" + file("d.toml")}));
  EXPECT_HAS(listed.output, "relu/batch_size=4/frozen/forward/t1/cpu");
  EXPECT_HAS(listed.output, "relu/batch_size=4/eager/forward/t1/cpu");
  EXPECT_EQ(listed.output.find("forward_backward"), std::string::npos);
  EXPECT_FALSE(fs::exists("results.jsonl"));
  write(file("e.toml"), "bakend = \"frozen\"\n");
  expect_refused(run({"experiment", file("e.toml")}), "e.toml:1:1: ");
}

TEST_F(Experiment, WritesDumps) {
  expect_status(
      0, run({"--definitions=" + file("d.toml"), "--filter=relu.*/forward/", "--metrics=wall",
              "--min-time=0.001", "--dump=graph,profile,trace", "--backend=eager,fused",
              "--dump-repetitions=2", "--dump-dir=" + file("dump")}));
  fs::path fused = folder_.path() / "dump" / "relu.batch_size=4.fused.forward.t1.cpu";
  EXPECT_HAS(text_of(fused / "graph.before.txt"), "aten::relu");
  EXPECT_HAS(text_of(fused / "graph.after.txt"), "prim::TensorExprGroup");
  EXPECT_HAS(text_of(fused / "counters.txt"), "\nfused 1\n");
  fs::path eager = folder_.path() / "dump" / "relu.batch_size=4.eager.forward.t1.cpu";
  EXPECT_FALSE(fs::exists(eager / "graph.before.txt"));
  EXPECT_HAS(text_of(eager / "profile.txt"), "aten::relu");
  auto trace = nlohmann::json::parse(text_of(eager / "trace.json"));
  bool has_relu = false;
  for (const auto& event : trace.at("traceEvents")) has_relu |= event.at("name") == "aten::relu";
  EXPECT_TRUE(has_relu);
  EXPECT_HAS(text_of(eager / "1" / "profile.txt"), "aten::relu");
  EXPECT_NE(text_of(eager / "1" / "trace.json"), text_of(eager / "2" / "trace.json"));
}

// A part that does not fit into a reply is omitted, not truncated.
TEST_F(Experiment, ATooLongReplyIsOmitted) {
  write(file("d.toml"), R"toml(schema = 1
global_setup = "#include <ATen/record_function.h>"
[[benchmark]]
label = "long"
setup = "const std::string name(1000, 'x');"
stmt = """
for (int i = 0; i < 20000; ++i) { RECORD_FUNCTION(name, std::vector<c10::IValue>{}); }
"""
)toml");
  auto ended = run({"--definitions=" + file("d.toml"), "--metrics=wall", "--min-time=0.001",
                    "--repetitions=2", "--dump=profile", "--dump-dir=" + file("dump")});
  EXPECT_HAS(ended.errors, "its answer is longer than");
  EXPECT_FALSE(fs::exists(file("dump") + "/long.eager.forward.t1.cpu"));
}

}  // namespace
}  // namespace instr::e2e::experiment_test
