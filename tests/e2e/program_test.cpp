// Whole programs, programs of Google Benchmark and imports, counted without LibTorch.
#include <sys/stat.h>

#include "core/base/text.h"
#include "tests/e2e/tested_program.h"

namespace instr::e2e::program_test {
namespace {

class Programs : public ::testing::Test {
 protected:
  // Runs the program under test in the test's folder, or in one below it.
  CommandResult run_here(std::vector<std::string> arguments, const std::string& folder = ".",
                         const std::vector<std::string>& variables = {}) const {
    SpawnOptions options = command(std::move(arguments));
    options.environment->insert(options.environment->end(), variables.begin(), variables.end());
    options.working_directory = folder_.path() / folder;
    return value_of(run_command(options));
  }

  // Compiles a program, or links it, with arguments of the compiler; its name is the last argument.
  void compile(std::vector<std::string> arguments) const {
    SpawnOptions options;
    options.argv = {"c++", "-O2"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end() - 1);
    options.argv.insert(options.argv.end(), {"-o", arguments.back()});
    options.working_directory = folder_.path();
    const CommandResult ended = value_of(run_command(options));
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  }

  nlohmann::json counted(const std::string& key) const {
    const auto record = read_results(folder_.path() / "r.jsonl").at(key);
    EXPECT_EQ(record.value("outcome", "counted"), "counted") << record.dump(2);
    return record;
  }

  std::uint64_t instructions(const std::string& key) const {
    const auto record = counted(key);
    EXPECT_TRUE(record.at("steady").get<bool>()) << record.dump(2);
    return record.at("metrics").at("instructions").get<std::uint64_t>();
  }

  std::string output() const { return "--output=" + (folder_.path() / "r.jsonl").string(); }

  TemporaryFolder folder_;
};

// A program without a library: 1 + 2 * 1000 instructions, and 3 that Callgrind does not count,
// since the program ends in their block.
constexpr const char* kLoop = R"(
  .globl _start
_start:
  mov $1000, %ecx
1: dec %ecx
  jnz 1b
  mov $60, %eax
  mov $STATUS, %edi
  syscall
)";

TEST_F(Programs, CostWhatTheirAssemblySays) {
  folder_.write("loop.s", std::string("STATUS = 0\n") + kLoop);
  folder_.write("seven.s", std::string("STATUS = 7\n") + kLoop);
  for (const std::string name : {"loop", "seven"})
    compile({"-nostdlib", "-static", name + ".s", name});
  folder_.write("d.toml",
                "schema = 1\n[[benchmark]]\nlabel = \"loop\"\ncommand = [\"./loop\"]\n"
                "[[benchmark]]\nlabel = \"seven\"\ncommand = [\"./seven\"]\nexit_status = 7\n"
                "[[benchmark]]\nlabel = \"failing\"\ncommand = [\"./seven\"]\n"
                "[[benchmark]]\nlabel = \"missing\"\ncommand = [\"./none\"]\n");
  const auto ended = expect_status(1, run_here({"--definitions=d.toml", output()}));
  EXPECT_EQ(instructions("loop"), 2001u);
  EXPECT_EQ(instructions("seven"), 2001u);
  EXPECT_HAS(ended.output, "the program ended with exit status 7, not 0");
  EXPECT_HAS(ended.output, "there is no program `./none`");
  expect_status(0, run_here({"exec", "--exit-status=7", output(), "--", "./seven"}));
  EXPECT_EQ(instructions("seven"), 2001u);
}

TEST_F(Programs, HaveTheirOutputAndTheirChildrenKeptApart) {
  folder_.write("script", "#!/bin/sh\necho of the program\n/bin/true\n");
  ::chmod((folder_.path() / "script").c_str(), 0755);
  const auto alone = expect_status(0, run_here({"exec", output(), "--", "./script"}));
  EXPECT_EQ(alone.output.find("of the program"), std::string::npos) << alone.output;
  const std::uint64_t own = instructions("script");
  expect_status(0, run_here({"exec", output(), "--label=true", "--", "/bin/true"}));
  const std::uint64_t child = instructions("true");
  expect_status(0, run_here({"exec", "--children", output(), "--", "./script"}));
  const std::uint64_t both = instructions("script");
  EXPECT_GT(both, own + child / 2);
  EXPECT_LT(both, own + child * 2);
}

TEST_F(Programs, LeaveNothingRunning) {
  folder_.write("daemon", "#!/bin/sh\n(setsid sleep 4242 &)\n");
  ::chmod((folder_.path() / "daemon").c_str(), 0755);
  const auto ended = expect_status(1, run_here({"exec", "--", "./daemon"}));
  EXPECT_HAS(ended.output, "left a process running (`sleep`), which was killed");
  expect_status(1, run_here({"exec", "--timeout=0.5", "--", "sh", "-c", "while :; do :; done"}));
}

// The loops differ by ten instructions in an iteration.
constexpr const char* kBenchmarks = R"(
#include <benchmark/benchmark.h>
static void less(benchmark::State& state) { for (auto _ : state) asm volatile("nop"); }
BENCHMARK(less);
static void more(benchmark::State& state) {
  for (auto _ : state) asm volatile(".rept 11\n nop\n .endr");
}
BENCHMARK(more);
static void paused(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    asm volatile(".rept 1000\n nop\n .endr");
    state.ResumeTiming();
    asm volatile("nop");
  }
}
BENCHMARK(paused)->Arg(8);
static void skipped(benchmark::State& state) {
  state.SkipWithError("there is no file");
  for (auto _ : state) {}
}
BENCHMARK(skipped);
BENCHMARK_MAIN();
)";

TEST_F(Programs, OfGoogleBenchmarkAreCountedPerIteration) {
  folder_.write("bench.cpp", kBenchmarks);
  compile({"bench.cpp", "-lbenchmark", "-lpthread", "bench"});
  const auto ended =
      expect_status(1, run_here({"exec", "--google-benchmark", output(), "--", "./bench"}));
  EXPECT_EQ(instructions("bench/more"), instructions("bench/less") + 10);
  EXPECT_LE(instructions("bench/less"), 4u);
  EXPECT_LE(instructions("bench/paused/8"), 40u);  // and the calls that pause and resume
  EXPECT_HAS(ended.output, "there is no file");
}

class Imports : public Programs {
 protected:
  // A package of ten modules; `config` imports another module of the standard library.
  void write_package(const std::string& folder, const std::string& planted = "") const {
    for (int i = 0; i < 8; ++i) {
      folder_.write(folder + "/mine/part" + std::to_string(i) + ".py",
                    i == 0 ? "" : "from mine import part" + std::to_string(i - 1) + "\n");
    }
    folder_.write(folder + "/mine/config.py", "import enum\n" + planted);
    folder_.write(folder + "/mine/__init__.py", "from mine import config, part7\n");
  }
};

TEST_F(Imports, CostTheSameInEveryFolderAndNameWhatIsNew) {
  write_package("a");
  write_package("another/user");
  for (const char* file : {"another/user/more.py", "another/user/mine/notes.txt", "another/user/x"})
    folder_.write(file, "");
  write_package("another/place", "import json\n");
  const std::string before = (folder_.path() / "before.jsonl").string();
  expect_status(0, run_here({"import", "mine", "--output=" + before}, "a"));
  expect_status(0, run_here({"import", "mine", output()}, "another/user",
                            {"PYTHONPATH=" + (folder_.path() / "empty").string(), "LONG=1234567"}));
  const auto same = [](const std::string& file) {
    return read_results(file).at("import/mine").at("metrics");
  };
  EXPECT_EQ(same(before), same((folder_.path() / "r.jsonl").string()));
  const auto slower = expect_status(
      3, run_here({"import", "mine", output(), "--baseline=" + before}, "another/place"));
  EXPECT_HAS(slower.output, "json.decoder");
  expect_status(0, run_here({"explain", "import/mine", (folder_.path() / "r.jsonl").string(),
                             "--flame=flames"}));
  EXPECT_HAS(text_of(folder_.path() / "flames/import.mine.folded"),
             "the snippet;mine;mine.config;json;json.decoder ");
}

TEST_F(Imports, ThatFailAreFailures) {
  folder_.write("broken.py", "import enum\nraise RuntimeError('of the module')\n");
  EXPECT_HAS(expect_status(1, run_here({"import", "broken"})).output, "of the module");
  EXPECT_HAS(expect_status(1, run_here({"import", "not_there"})).output, "No module named");
}

}  // namespace
}  // namespace instr::e2e::program_test
