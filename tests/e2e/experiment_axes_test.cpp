// The axes of experiments, and the ways to run experiments one by one.

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/e2e/experiment_file_reader.h"
#include "tests/labels.h"

namespace instr::e2e::experiment_axes_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "ExperimentAxes.Amp*");

using ExperimentAxes = ExperimentFixture;

// Snippets print whether they are under autocast: in each run but that of the reference, in
// float64.
// PyTorch/XLA's aggregate.py and result_analyzer.py read these fields of a line.
void expect_line_of_runner(const std::string& line) {
  const auto json = nlohmann::json::parse(line);
  for (const char* name : {"suite_name", "model_name"}) {
    EXPECT_TRUE(json.at("model").at(name).is_string()) << line;
  }
  for (const char* name : {"experiment_name", "accelerator", "accelerator_model", "xla",
                           "xla_flags", "dynamo", "torch_xla2", "test", "batch_size"}) {
    EXPECT_TRUE(json.at("experiment").contains(name)) << line;
  }
  for (const char* name : {"repeat", "iterations_per_run", "timestamp"}) {
    EXPECT_TRUE(json.at(name).is_number_integer()) << line;
  }
  EXPECT_TRUE(json.contains("outputs_file"));
  for (const auto& [name, values] : json.at("metrics").items()) {
    EXPECT_TRUE(values.is_array() && values.at(0).is_number()) << name;
  }
  EXPECT_EQ(json.at("metrics").at("total_time").size(), json.at("repeat").get<std::size_t>());
}

TEST_F(ExperimentAxes, AmpIsAutocastAroundAllButBackward) {
  write(file("d.toml"), R"toml(schema = 1
[[benchmark]]
label = "mm"
setup = """
auto x = torch::rand({16, 16}).requires_grad_();
auto w = torch::rand({16, 16});
auto usual = [](const torch::Tensor&) {
  auto one = torch::ones({2, 2});
  TORCH_CHECK(torch::mm(one, one).scalar_type() == torch::kFloat, "autocast of backward");
};
"""
signature = "f(x, w) -> y"
stmt = """
auto y = torch::mm(x, w);
TORCH_CHECK(y.scalar_type() != torch::kFloat, "no autocast");
y.register_hook(usual);
"""
torchscript = "y = torch.mm(x, w)"
autograd = true
reduce = "sum"
[[benchmark]]
label = "wrong"
setup = "auto x = torch::rand({16, 16});"
signature = "f(x) -> y"
stmt = "auto y = torch::mm(x, x) + 1;"
torchscript = "y = torch.mm(x, x) * 1.1 + 1"
)toml");
  expect_status(1, run(with({"--dtype=amp"})));
  const auto lines = records();
  EXPECT_EQ(lines.size(), 5u + 3);
  for (const std::string key :
       {"mm/dtype=amp/torchscript/forward/t1/cpu", "mm/dtype=amp/frozen/forward/t1/cpu",
        "mm/dtype=amp/torchscript/forward_backward/t1/cpu"}) {
    EXPECT_EQ(code_name(lines.at(key)), "PASS") << key;
  }
  for (const auto& [key, line] : lines) EXPECT_EQ(ending_of(line), "measured") << key;
  EXPECT_EQ(code_name(lines.at("wrong/dtype=amp/torchscript/forward/t1/cpu")), "FAIL");
}

const char* const kTwo = R"toml(schema = 1
[[benchmark]]
label = "add"
setup = "auto x = torch::rand({16, 16});"
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = x + 1"
threads = [1, 2]
[[benchmark]]
label = "it's"
stmt = "auto x = torch::rand({4});"
)toml";

// Runs them as a scheduler would: each in a shell, several at a time.
TEST_F(ExperimentAxes, PrintedCommandsRunOneExperimentEachForALaterRunOfAll) {
  write(file("d.toml"), kTwo);
  const std::string folder = "--output-dir=" + file("out");
  const auto all = words({"--backend=torchscript", "--threads=1", folder, "--verbose"});
  auto asking = all;
  asking.push_back("--print-commands");
  auto printed = expect_status(0, run(asking));
  EXPECT_FALSE(fs::exists(file("out")));
  const auto commands = split_lines(printed.output);
  ASSERT_EQ(commands.size(), 3u) << printed.output;
  // Without $P, since results depend on the environment.
  const auto in_shell = [this](const std::string& line) {
    expect_status(0, run_in_shell("unset P; " + line, folder_.path()));
  };
  // Not `wait -n`, which misses a second command that ends in the same moment.
  in_shell(commands[0] + " & " + commands[2] + " && wait $!");
  std::map<std::string, Measurement> measured;
  for (const auto& entry : fs::directory_iterator(file("out/measurements.parts"))) {
    if (entry.path().extension() != ".jsonl") continue;
    const auto one = measurements_in(entry.path());
    EXPECT_EQ(one.size(), 1u);
    measured.insert(one.begin(), one.end());
  }
  EXPECT_EQ(measured.size(), 2u);
  EXPECT_FALSE(fs::exists(file("out/measurements.jsonl")));
  in_shell(commands[0]);  // there already
  auto whole = expect_status(0, run(all));
  EXPECT_HAS(whole.errors, "2 results taken from");
  EXPECT_HAS(whole.errors, "[1/1]");
  const auto results = records("out/measurements.jsonl");
  EXPECT_EQ(results.size(), 3u);
  for (const auto& [key, one] : measured) {
    EXPECT_EQ(find_timing(results.at(key))->of(kWall), find_timing(one)->of(kWall));
  }
  const auto lines = split_lines(text_of(file("out/results.jsonl")));
  EXPECT_EQ(lines.size(), 3u);
  for (const std::string& line : lines) expect_line_of_runner(line);
  EXPECT_HAS(text_of(file("out/summary.txt")), "3 experiments: 3 measured");
  EXPECT_HAS(text_of(file("out/summary.md")), "| TorchScript |");
  if (find_program("gnuplot")) {
    EXPECT_HAS(text_of(file("out/speedup.svg")), "<svg") << whole.errors;
  } else {
    EXPECT_HAS(whole.errors, "apt-get install gnuplot");
  }
  expect_refused(run(with({"--only=add/eager/forwards/t1/cpu"})),
                 "did you mean `add/eager/forward/t1/cpu`?");
  EXPECT_TRUE(stray_processes().empty());
}

// The program is killed, and cannot stop its workers.
TEST_F(ExperimentAxes, AKillOrCtrlCLosesOnlyTheRunningExperiment) {
  write_definitions_with_marker(R"toml(schema = 1
global_setup = "#include <fcntl.h>\n#include <unistd.h>"
[[benchmark]]
label = "first"
stmt = "auto x = torch::rand({4});"
[[benchmark]]
label = "waits"
stmt = "if (open(\"FILE\", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) pause();"
)toml");
  for (int signal : {SIGKILL, SIGINT}) {
    auto process = start_until_marker();
    ::kill(process.pid(), signal);
    EXPECT_EQ(to_exit_code(process.wait()), signal == SIGINT ? 130 : 128 + SIGKILL);
    EXPECT_TRUE(stray_processes().empty());
    EXPECT_EQ(records().size(), 1u);
    EXPECT_TRUE(records().contains("first/eager/forward/t1/cpu"));
  }
  EXPECT_HAS(expect_status(0, run(with({"--verbose"}))).errors, "1 of 2 are already there");
  EXPECT_EQ(records().size(), 2u);
}

const char* const kOnBoth = R"toml(schema = 1
[[benchmark]]
label = "add"
setup = 'auto x = torch::rand({4}, torch::Device("{device}"));'
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = x + 1"
device = ["cpu", "cuda"]
)toml";

// A machine without a device adds up the results of one that has a device.
TEST_F(ExperimentAxes, ResultsOfAMissingDeviceAreKept) {
  write(file("d.toml"), kOnBoth);
  const std::vector<std::string> hidden{"CUDA_VISIBLE_DEVICES="};
  const std::string cpu = "add/torchscript/forward/t1/cpu";
  const std::string cuda = "add/torchscript/forward/t1/cuda";
  const std::string line = "no CUDA device: 3 variants left out\n";
  const auto listed = run(with({"--dry-run"}), hidden);
  EXPECT_EQ(listed.errors, line);
  EXPECT_EQ(listed.output.find("cuda"), std::string::npos) << listed.output;
  EXPECT_HAS(run(with({"--print-commands"}), hidden).output, cuda);
  ASSERT_EQ(run(with({"--only=" + cpu}), hidden).exit_code, 0);
  EXPECT_HAS(expect_status(2, run(with({"--only=" + cuda}), hidden)).errors,
             "--only: `" + cuda + "` cannot run here: no CUDA device: use");

  const fs::path parts = folder_.path() / "r.parts";
  Results result;
  for (const auto& entry : fs::directory_iterator(parts)) {
    if (entry.path().extension() == ".jsonl") result = value_of(instr::read_results(entry.path()));
  }
  Measurement& one = result.measurements.at(0);
  one.variant.key = cuda;
  one.variant.device = "cuda";
  ASSERT_TRUE(value_of(ResultsWriter::create(value_of(ResultsTarget::open(parts / "cuda.jsonl")),
                                             result.header, {one}))
                  .finish(true));
  write(file("codes.csv"), "key,code\n" + cpu + ",PASS\nadd/frozen/forward/t1/cuda,FAIL\n");
  const std::string codes = "--expect-codes=" + file("codes.csv");
  for (const char* option : {"--show-each", "--update-expected-codes"}) {
    const auto whole = expect_status(0, run(with({codes, option}), hidden));
    EXPECT_HAS(whole.errors, line);
    // A result of another definition, that of the CPU.
    EXPECT_HAS(whole.errors, "1 result not shown: it has changed since, and cannot run here");
    EXPECT_EQ(records().size(), 3u);
  }
  EXPECT_HAS(text_of(file("codes.csv")), "add/frozen/forward/t1/cuda,FAIL");
}

// Makes a folder of links to all programs on PATH but gnuplot.
void link_all_but_gnuplot(const fs::path& folder) {
  fs::create_directory(folder);
  std::istringstream path(getenv("PATH"));
  for (std::string place; std::getline(path, place, ':');) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
      const fs::path name = entry.path().filename();
      if (name != "gnuplot") fs::create_symlink(entry.path(), folder / name, ignored);
    }
  }
}

TEST_F(ExperimentAxes, MissingGnuplotIsReportedOnceBeforeMeasuring) {
  write(file("d.toml"), kTwo);
  link_all_but_gnuplot(file("bin"));
  const auto without_gnuplot = [&](std::vector<std::string> arguments) {
    SpawnOptions options = command(std::move(arguments));
    std::erase_if(*options.environment,
                  [](const std::string& variable) { return variable.starts_with("PATH="); });
    options.environment->push_back("PATH=" + file("bin"));
    return value_of(run_command(options));
  };
  // By its usual path, so that the worker is in the cache.
  const auto clang = find_program("clang++");
  const std::string compiler = "--compiler=" + (clang ? clang->string() : "g++");
  const auto experiment = [&](const std::string& option) {
    return without_gnuplot(words(
        {"--backend=torchscript", "--verbose", compiler, "--output-dir=" + file("out"), option}));
  };
  const auto one = expect_status(0, experiment("--only=add/eager/forward/t1/cpu"));
  EXPECT_EQ(one.errors.find("gnuplot"), std::string::npos) << one.errors;
  const auto whole = expect_status(0, experiment("--threads=1"));
  const std::size_t place = whole.errors.find("there will be no pictures: a picture needs gnuplot");
  EXPECT_LT(place, whole.errors.find("add/torchscript/forward/t1/cpu  ")) << whole.errors;
  EXPECT_EQ(whole.errors.find("picture", place + 40), std::string::npos) << whole.errors;
  EXPECT_HAS(whole.errors, "apt-get install gnuplot-nox\n");
  EXPECT_TRUE(fs::exists(file("out/summary.txt")));
  EXPECT_FALSE(fs::exists(file("out/speedup.svg")));
  expect_refused(without_gnuplot({"plot", "missing.jsonl", "--output=" + file("p.svg")}),
                 "error: a picture needs gnuplot");
  EXPECT_HAS(expect_status(0, run({"plot", file("out/measurements.jsonl"), "--backend=torchscript",
                                   "--kind=speedup", "--format=csv"}))
                 .output,
             "TorchScript");
}

class ExperimentInPython : public ExperimentFixture {
 protected:
  void SetUp() override {
    if (!has_python()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  }
};

TEST_F(ExperimentInPython, AmpAndDynamicShapesAreForCompiledFunctions) {
  write(file("d.toml"), R"toml(schema = 1
[[benchmark]]
label = "checked"
py_setup = """
x = torch.rand(8, 8, requires_grad=True)
def usual(gradient):
    if torch.mm(x, x).dtype is torch.bfloat16:
        raise ValueError("autocast of backward")
"""
py_stmt = """
y = torch.mm(x, x)
if y.dtype is torch.float32: raise ValueError("no autocast")
y.register_hook(usual)
"""
signature = "f(x) -> y"
autograd = true
reduce = "sum"
[[benchmark]]
label = "linear"
py_setup = "x = torch.rand(4, 8)"
py_module = "torch.nn.Linear(8, 8)"
signature = "f(x) -> y"
torchscript = true
autograd = true
reduce = "mean"
)toml");
  expect_status(0,
                run(words({"--output=" + file("r.jsonl"), "--dtype=amp", "--shapes=static,dynamic",
                           "--exclude=^checked/.*aot", "--backend=aot_eager,torchscript"})));
  const auto lines = records();
  std::set<std::string> compiled;
  for (const auto& [key, line] : lines) {
    EXPECT_EQ(ending_of(line), "measured") << key;
    const bool is_dynamic = key.find("/shapes=dynamic/") != std::string::npos;
    if (key.find("/eager/") != std::string::npos) continue;
    EXPECT_EQ(code_name(line), "PASS") << key;
    if (is_dynamic) compiled.insert(key);
  }
  EXPECT_EQ(compiled, (std::set<std::string>{
                          "linear/dtype=amp/shapes=dynamic/py/aot_eager/forward/t1/cpu",
                          "linear/dtype=amp/shapes=dynamic/py/aot_eager/forward_backward/t1/cpu"}));
  EXPECT_TRUE(lines.contains("linear/dtype=amp/shapes=dynamic/py/eager/forward/t1/cpu"));
}

constexpr const char* kExhausting = R"toml(schema = 1
[[benchmark]]
label = "too large"
py_setup = "x = torch.ones(4)"
[benchmark.py_stmts]
tensor = "y = torch.zeros(1 << 42)"
bytes = "y = bytearray(1 << 44)"
piecemeal = """
kept = []
while True: kept.append(torch.empty(1 << 26))
"""
[[benchmark]]
label = "hangs"
py_global_setup = """
import time

@torch._dynamo.disable
def wait(x):
    time.sleep(10000)
    return x
"""
py_setup = "x = torch.ones(4)"
py_stmt = "y = wait(x) if torch._dynamo.is_compiling() else x + 1"
signature = "f(x) -> y"
[[benchmark]]
label = "last"
py_setup = "x = torch.ones(4)"
py_stmt = "y = x + 1"
signature = "f(x) -> y"
)toml";

TEST_F(ExperimentInPython, MemoryAndTimeThatRunOutAreResults) {
  write(file("d.toml"), kExhausting);
  expect_status(1,
                run(words({"--output=" + file("r.jsonl"), "--backend=aot_eager", "--timeout=15"})));
  const auto lines = records();
  const auto reason = [&lines](const std::string& key) { return ending_of(lines.at(key)); };
  for (const std::string name : {"tensor", "bytes", "piecemeal"}) {
    EXPECT_EQ(reason("too large/" + name + "/py/eager/forward/t1/cpu").substr(0, 15),
              "out_of_memory: ");
  }
  EXPECT_EQ(reason("hangs/py/eager/forward/t1/cpu"), "measured");
  const std::string hung = reason("hangs/py/aot_eager/forward/t1/cpu");
  EXPECT_EQ(hung.substr(0, 11), "timed_out: ");
  EXPECT_HAS(hung,
             "while aot_eager compiled or first ran the statement: stopped after being idle for 15 "
             "s: raise --timeout");
  EXPECT_EQ(code_name(lines.at("hangs/py/aot_eager/forward/t1/cpu")), "VERIFIER_DIDNT_RUN");
  EXPECT_EQ(reason("last/py/aot_eager/forward/t1/cpu"), "measured");
  auto again = run(
      words({"--output=" + file("r.jsonl"), "--backend=aot_eager", "--timeout=15", "--verbose"}));
  EXPECT_HAS(again.errors, "are already there");
  EXPECT_TRUE(stray_processes().empty());
}

// Three models on backends of a module beside the definitions, in two settings.
TEST_F(ExperimentInPython, BackendsAndSettingsOfOnesOwn) {
  write(file("my_backends.py"), R"py(
import os
import torch._inductor.config

def checked(gm, example_inputs):
    if torch._inductor.config.freezing != (os.environ.get("MINE") == "set"):
        raise ValueError("the setting is incomplete")
    return gm.forward if scale == 1 else lambda *inputs: [scale * y for y in gm(*inputs)]

scale = 1

def broken(gm, example_inputs):
    raise ValueError("cannot compile this")

def without_inputs(gm):
    return gm.forward

@torch._dynamo.register_backend
def registered(gm, example_inputs):
    return gm.forward
)py");
  write(file("d.toml"), R"toml(schema = 1
[[backend]]
name = "mine"
import = "my_backends:checked"
[[backend]]
name = "registered"
import = "my_backends"
[[backend]]
name = "missing"
import = "no_such_module"
[[setting]]
name = "frozen"
environment = { MINE = "set" }
inductor = { freezing = true }
[[setting]]
name = "misspelled"
inductor = { frezing = true }
[[benchmark]]
label = "model"
py_setup = "x = torch.rand(4, 8)"
signature = "f(x) -> y"
autograd = true
reduce = "sum"
[benchmark.py_modules]
linear = "torch.nn.Linear(8, 8)"
norm = "torch.nn.BatchNorm1d(8).train({training})"
both = "torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())"
)toml");
  const std::vector<std::string> path{"PYTHONPATH=" +
                                      fs::path(file("d.toml")).parent_path().string()};
  const auto experiment = [&](std::vector<std::string> more) {
    more.push_back("--output=" + file("r.jsonl"));
    return run(words(std::move(more)), path);
  };
  const auto summed =
      expect_status(0, experiment({"--backend=mine,registered", "--settings=default,frozen",
                                   "--test=eval,train,train_eval"}));
  EXPECT_HAS(summed.output, "graphs that the backend left to eager");
  auto lines = records();
  EXPECT_EQ(lines.size(), 54u);  // models x (eager and two backends) x tests x settings
  for (const auto& [key, line] : lines) {
    EXPECT_EQ(ending_of(line), "measured") << key;
    if (key.find("/eager/") != std::string::npos) continue;
    EXPECT_EQ(code_name(line), "PASS") << key;
    EXPECT_EQ(find_metric_of(line, "eager_graphs"), 1) << key;
  }
  EXPECT_TRUE(lines.contains("model/norm/setting=frozen/py/mine/forward_backward/t1/cpu"));

  // A backend that computes something else is worse than before.
  fs::copy_file(file("r.jsonl"), file("before.jsonl"));
  std::ofstream(file("my_backends.py"), std::ios::app) << "scale = 2\n";
  const std::vector<std::string> some{"--filter=norm/py/(eager|mine)/forward/"};
  expect_status(1, experiment({"--backend=mine", "--test=eval", some[0]}));
  const auto compared =
      run({"compare", file("before.jsonl"), file("r.jsonl"), some[0], "--allow-failed"});
  expect_status(3, compared);
  EXPECT_HAS(compared.output, "model/norm/py/mine/forward/t1/cpu");

  // A backend that cannot work fails with its reason, and harms no other.
  expect_status(1,
                experiment({"--backend=mine,missing,my_backends:broken,my_backends:without_inputs",
                            "--filter=linear", "--test=eval"}));
  lines = records();
  const auto reason = [&lines](const std::string& backend) {
    return ending_of(lines.at("model/linear/py/" + backend + "/forward/t1/cpu"));
  };
  EXPECT_HAS(reason("missing"), "No module named 'no_such_module'");
  EXPECT_HAS(reason("my_backends:broken"), "cannot compile this");
  EXPECT_HAS(reason("my_backends:without_inputs"), "takes 1 positional argument");
  EXPECT_EQ(reason("mine"), "measured");

  const auto listed = expect_status(0, run({"list", "--backends", "--format=csv"}));
  EXPECT_HAS(listed.output, "\naot_eager,AOT eager,yes");
  EXPECT_HAS(listed.output, "\neager_noexcept,torch.compile(),yes");
  EXPECT_HAS(listed.output, "\ncuda_graph,CUDA graph,no: ");

  // Names that torch does not know are refused before anything is measured.
  const auto unknown = experiment({"--backend=aot_eagr"});
  expect_status(2, unknown);
  EXPECT_HAS(unknown.errors,
             "torch.compile() has no backend `aot_eagr`: did you mean `aot_eager`?");
  const auto misspelled = experiment({"--backend=inductor", "--setting=misspelled"});
  expect_status(2, misspelled);
  EXPECT_HAS(misspelled.errors,
             "torch._inductor.config has no `frezing`: did you mean `freezing`?");
}

}  // namespace
}  // namespace instr::e2e::experiment_axes_test
