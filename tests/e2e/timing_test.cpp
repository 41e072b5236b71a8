// Wall times by the native worker: their composition, failures of snippets, and times beside
// counts. No test depends on a duration, except that of a sleep.

#include "tests/e2e/tested_program.h"
#include "tests/labels.h"

namespace instr::e2e::timing_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "Timing.*", "Timing.CountsAreTheSame*");

const char* const kDefinitions = R"(schema = 1
[[benchmark]]
label = "sleeps"
setup = "auto x = torch::rand({4});"
signature = "f(x) -> y"
stmt = "usleep(2000); auto y = x + 1;"
torchscript = "y = x + 1"
iterations = 3
[[benchmark]]
label = "set up once"
global_setup = "#include <atomic>\nstatic std::atomic<int> set_ups{0};"
setup = "if (++set_ups != 1) throw std::runtime_error(\"set up twice\");"
stmt = 'asm volatile(".rept 100\n nop\n .endr");'
[[benchmark]]
label = "large"
stmt = 'asm volatile(".rept 100\n nop\n .endr");'
timed = true
[[benchmark]]
label = "on a device"
device = ["cuda"]
stmt = "auto x = torch::rand({4}, torch::kCUDA);"
)";

// A benchmark of a statement that touches 64 new pages.
std::string touching(const std::string& label, const std::string& stmt) {
  return "[[benchmark]]\nlabel = \"" + label + "\"\nstmt = \"" + stmt + "\"\n" +
         R"(global_setup = """
#include <sys/mman.h>
inline void touch_64_pages() {
  auto* pages = static_cast<char*>(
      mmap(nullptr, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < 64; ++i) static_cast<volatile char*>(pages)[i * 4096] = 1;
  munmap(pages, 64 * 4096);
}
"""
)";
}

const std::string kPlain = "/eager/forward/t1/cpu";

class Timing : public ::testing::Test {
 protected:
  Timing() { write(file("d.toml"), kDefinitions); }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  CommandResult time(std::vector<std::string> options,
                     const std::vector<std::string>& variables = {}) const {
    options.push_back("--definitions=" + file("d.toml"));
    options.push_back("--repetitions=5");
    options.push_back("--min-time=0.01");
    return run(std::move(options), variables);
  }

  TemporaryFolder folder_;
};

TEST_F(Timing, CanBeInUnitsOfEagers) {
  expect_status(
      0, time({"--metrics=wall,relative_wall", "--filter=^sleeps", "--output=" + file("r.jsonl")}));
  auto records = read_results(file("r.jsonl"));
  const auto eager = records.at("sleeps" + kPlain).at("times");
  EXPECT_FALSE(eager.contains("relative_wall"));
  const auto script = records.at("sleeps/torchscript/forward/t1/cpu").at("times");
  ASSERT_EQ(script.at("relative_wall").size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const double ratio = script.at("wall")[i].get<double>() / eager.at("wall")[i].get<double>();
    EXPECT_NEAR(script.at("relative_wall")[i].get<double>(), ratio, 1e-9);
  }
}

// In one process both would fail the second time.
TEST_F(Timing, ASetupThatRunsOnlyOnceInAProcessIsTimedAlone) {
  write(file("d.toml"), R"toml(schema = 1
[[benchmark]]
label = "once"
setup = '''
if (getenv("INSTR_TEST_SET_UP")) throw std::runtime_error("set up twice");
setenv("INSTR_TEST_SET_UP", "1", 1);
auto x = torch::rand({4});'''
signature = "f(x) -> y"
stmt = "auto y = x + 1;"
torchscript = "y = x + 1"
)toml");
  expect_status(0, time({"--metrics=wall", "--backend=eager,torchscript"}));
}

TEST_F(Timing, IsOfTheLoopAloneAndAtLeastTheSleep) {
  expect_status(0, time({"--metrics=wall", "--output=" + file("r.jsonl")}));
  auto records = read_results(file("r.jsonl"));
  auto sleeps = records.at("sleeps" + kPlain);
  EXPECT_EQ(sleeps.at("outcome"), "timed");
  EXPECT_GE(sleeps.at("metrics").at("wall").get<double>(), 2e6);
  EXPECT_LT(sleeps.at("metrics").at("cpu").get<double>(),
            sleeps.at("metrics").at("wall").get<double>());
  EXPECT_EQ(sleeps.at("times").at("iterations"), 3);
  EXPECT_EQ(sleeps.at("times").at("wall").size(), 5u);
  EXPECT_FALSE(sleeps.at("metrics").contains("instructions"));
  EXPECT_EQ(records.at("set up once" + kPlain).at("outcome"), "timed");
  EXPECT_EQ(records.at("sleeps/torchscript/forward/t1/cpu").at("outcome"), "timed");
  EXPECT_TRUE(stray_processes().empty());
}

TEST_F(Timing, OtherProcessesThatKeepTheMachineBusyAreReported) {
  const std::jthread busy([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
    }
  });
  auto result = expect_status(0, time({"--metrics=wall", "--filter=sleeps", "--backend=eager",
                                       "--output=" + file("r.jsonl")}));
  const auto record = read_results(file("r.jsonl")).at("sleeps" + kPlain);
  EXPECT_GT(record.at("times").at("others").get<double>(), 0.2);
  EXPECT_HAS(result.output, "busy machine: during 1 of 1 timings");
}

// Eager compiles nothing; a script is compiled before its first result, and again after it.
TEST_F(Timing, ReportsTheTimeToStart) {
  auto result = expect_status(0, time({"--metrics=wall,first_result,ready", "--filter=sleeps",
                                       "--backend=all", "--output=" + file("r.jsonl")}));
  auto records = read_results(file("r.jsonl"));
  EXPECT_EQ(records.size(), 6u);
  for (const auto& [key, record] : records) {
    ASSERT_EQ(record.at("outcome"), "timed") << key;
    const auto& metrics = record.at("metrics");
    double first = metrics.at("first_result").get<double>();
    EXPECT_EQ(record.at("times").at("ready").size(), 5u) << key;
    EXPECT_GT(first, 0) << key;
    bool is_eager = key == "sleeps" + kPlain;
    EXPECT_GE(first, is_eager ? 2e6 : 0) << key;
    EXPECT_EQ(metrics.at("ready").get<double>() > first, !is_eager) << key;
  }
  EXPECT_HAS(result.output, "1 of 1");
}

// The kernel's counter, read as those of a processor. Threads that the snippet starts are counted,
// and touch a page or two more.
TEST_F(Timing, CountsEventsOfAllThreads) {
  write(file("pages.toml"), "schema = 1\n" + touching("pages", "touch_64_pages();") +
                                touching("thread", "std::thread(touch_64_pages).join();"));
  expect_status(0, run({"--definitions=" + file("pages.toml"), "--metrics=wall,page_faults",
                        "--repetitions=5", "--min-time=0.01", "--output=" + file("r.jsonl")}));
  auto records = read_results(file("r.jsonl"));
  const auto faults_of = [&records](const std::string& label) {
    const auto record = records.at(label + kPlain);
    EXPECT_EQ(record.at("times").at("page_faults").size(), 5u);
    return record.at("metrics").at("page_faults").get<double>();
  };
  EXPECT_NEAR(faults_of("pages"), 64, 0.5);
  EXPECT_GE(faults_of("thread"), 64);
  EXPECT_LT(faults_of("thread"), 70);
}

TEST_F(Timing, EventsThatTheProcessorLacksAreAnError) {
  const auto result = time({"--metrics=hw", "--filter=sleeps"});
  if (result.exit_code == 0) GTEST_SKIP() << "there are hardware counters";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_HAS(result.errors, "hw_instructions is unsupported here: ");
}

TEST_F(Timing, VariantsOnAMissingDeviceAreLeftOutInOneLine) {
  const std::vector<std::string> hidden{"CUDA_VISIBLE_DEVICES=-1"};
  const std::string output = "--output=" + file("r.jsonl");
  const std::string line = "no CUDA device: 1 variant left out";
  const auto ended = expect_status(
      0, time({"--metrics=wall", "--filter=set up once|on a device", output}, hidden));
  EXPECT_HAS("\n" + ended.errors, "\n" + line + "\n");
  const auto records = read_results(file("r.jsonl"));
  EXPECT_EQ(records.size(), 1u);
  EXPECT_TRUE(records.contains("set up once" + kPlain));
  const auto listed = expect_status(0, time({"--metrics=wall", "--dry-run"}, hidden));
  EXPECT_EQ(listed.errors, line + "\n");
  EXPECT_EQ(listed.output.find("on a device"), std::string::npos) << listed.output;
  for (const char* option : {"--dry-run", "--verify"}) {
    EXPECT_HAS(
        expect_status(2, time({"--metrics=wall", "--filter=on a device", output, option}, hidden))
            .errors,
        "error: " + line + ", and no other is selected: use a machine");
  }
  EXPECT_EQ(read_results(file("r.jsonl")), records);
}

TEST_F(Timing, CoexistsWithCounts) {
  auto result = expect_status(0, time({"--metrics=instructions,wall", "--filter=set up once",
                                       "--format=json", "--output=" + file("r.jsonl")}));
  auto report = nlohmann::json::parse(result.output);
  ASSERT_EQ(report.at("measurements").size(), 1u);
  auto metrics = report.at("measurements").at(0).at("metrics");
  EXPECT_EQ(metrics.at("instructions"), 100);
  EXPECT_GT(metrics.at("wall").get<double>(), 0);
  // A results file with both has one measurement per key, and equals itself.
  auto same = expect_status(0, run({"compare", file("r.jsonl"), file("r.jsonl")}));
  EXPECT_HAS(same.output, "1 same");
}

TEST_F(Timing, WhatIsTooLargeToBeCountedIsTimedOrSkipped) {
  const auto outcome = [&](const char* metrics) {
    expect_status(0, run({metrics, "--filter=large", "--definitions=" + file("d.toml"),
                          "--output=" + file("r.jsonl")}));
    const auto measured = read_results(file("r.jsonl")).at("large" + kPlain);
    return measured.value("outcome", "") + ": " + measured.value("reason", "");
  };
  EXPECT_EQ(outcome("--metrics=instructions,wall"), "timed: ");
  EXPECT_EQ(outcome("--metrics=instructions"),
            "skipped: too large to be counted: --metrics=wall times it");
}

// The code that both sides of ab run: each process records its side, and no two may exist at once.
const char* const kTurns = R"(#pragma once
#include <fcntl.h>
#include <sys/file.h>
char side();
struct Turn {
  int lock = open("FOLDER/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  Turn() {
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) throw std::runtime_error("both sides at once");
    int log = open("FOLDER/turns", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    char name = side();
    if (write(log, &name, 1) != 1) throw std::runtime_error("turns");
    close(log);
  }
  ~Turn() { close(lock); }
};
)";

TEST_F(Timing, TwoSidesAlternate) {
  std::string header = kTurns;
  for (std::size_t at; (at = header.find("FOLDER")) != std::string::npos;) {
    header.replace(at, 6, folder_.path().string());
  }
  write(file("turns.h"), header);
  for (const char* side : {"a", "b"}) {
    std::string name = side;
    write(file(name + ".cpp"), "char side() { return '" + name + "'; }\n");
    write(file(name + ".toml"),
          "[build]\ninclude_dirs = [\".\"]\nsources = [\"" + name + ".cpp\"]\n");
  }
  write(file("d.toml"), R"(schema = 1
global_setup = '#include "turns.h"'
[[benchmark]]
label = "turns"
setup = "Turn turn;"
stmt = "usleep(200);"
[[benchmark]]
label = "few"
stmt = "usleep(200);"
iterations = 2
)");
  expect_status(0, run({"ab", "--build=" + file("a.toml"), "--build=" + file("b.toml"),
                        "--definitions=" + file("d.toml"), "--metrics=wall", "--repetitions=4",
                        "--min-time=0.01", "--output=" + file("both")}));
  EXPECT_EQ(text_of(file("turns")), "abbaabba");
  for (const char* side : {"both/a.jsonl", "both/b.jsonl"}) {
    auto records = read_results(file(side));
    for (const char* label : {"turns", "few"}) {
      EXPECT_EQ(records.at(label + kPlain).at("times").at("wall").size(), 4u) << side << label;
    }
  }
}

TEST_F(Timing, AStatementThatLeavesItsLoopHasNoTime) {
  write(file("left.toml"), R"toml(schema = 1
[[benchmark]]
label = "jumps"
global_setup = "#include <csetjmp>\nstatic jmp_buf place;\nstatic int jumps = 0;"
setup = "setjmp(place);"
stmt = "if (++jumps == 3) longjmp(place, 1);"
[[benchmark]]
label = "exits"
global_setup = "static int runs = 0;"
stmt = "if (++runs == 3) exit(0);"
[[benchmark]]
label = "guarded"
setup = "torch::NoGradGuard guard; auto x = torch::ones({4}, torch::requires_grad());"
signature = "f(x) -> y"
stmt = "auto y = x * 2;"
autograd = true
reduce = "sum"
)toml");
  expect_status(1, run({"--definitions=" + file("left.toml"), "--metrics=wall", "--repetitions=2",
                        "--min-time=0.001", "--output=" + file("r.jsonl")}));
  const auto records = read_results(file("r.jsonl"));
  const auto message = [&](const std::string& key) {
    const auto& record = records.at(key);
    if (!record.contains("failure")) return record.dump();
    return record.at("failure").at("message").get<std::string>();
  };
  EXPECT_HAS(message("jumps/eager/forward/t1/cpu"),
             "leaves its loop before its iterations are over");
  EXPECT_HAS(message("exits/eager/forward/t1/cpu"), "ended the process with exit status 0");
  EXPECT_HAS(message("guarded/eager/forward_backward/t1/cpu"), "gradients are switched off");
}

// Larger than the stack, and than the guard below it.
TEST_F(Timing, AFrameThatJumpsTheGuardIsAStackOverflow) {
  folder_.write("d.toml", R"(schema = 1

[[benchmark]]
label = "frame"
stmt = 'volatile char frame[{size} << 20]; asm volatile("" : : "r"(frame)); frame[0] = 1;'
matrix = { size = [9, 200] }

[[benchmark]]
label = "wrong address"
stmt = "*(volatile char*)4096 = 1;"
)");
  expect_status(1, run({"--definitions=" + file("d.toml"), "--metrics=wall", "--repetitions=2",
                        "--min-time=0.001", "--output=" + file("r.jsonl")}));
  for (const auto& [key, record] : read_results(file("r.jsonl"))) {
    const bool is_frame = key.starts_with("frame");
    EXPECT_HAS(record.at("failure").at("message").get<std::string>(),
               is_frame ? "SIGSEGV: stack overflow" : "SIGSEGV: Segmentation fault");
  }
}

// The failures are those of counting, and affect no other snippet.
TEST_F(Timing, FailuresOfHostileSnippetsAreDistinguished) {
  expect_status(1, run({"--definitions=" + fixture("hostile.toml").string(), "--metrics=wall",
                        "--repetitions=2", "--min-time=0.001", "--output=" + file("r.jsonl")}));
  auto records = read_results(file("r.jsonl"));
  auto kind = [&records](const std::string& label) -> std::string {
    auto record = records.at("hostile/" + label + kPlain);
    return record.contains("failure") ? record.at("failure").at("kind").get<std::string>()
                                      : record.at("outcome").get<std::string>();
  };
  EXPECT_EQ(kind("good first"), "timed");
  EXPECT_EQ(kind("good last"), "timed");
  EXPECT_EQ(kind("throws"), "exception");
  EXPECT_EQ(kind("segfault"), "crashed");
  EXPECT_EQ(kind("abort"), "aborted");
  EXPECT_EQ(kind("exit"), "exited");
  EXPECT_EQ(kind("loops"), "timed_out");
  EXPECT_EQ(kind("allocates"), "out_of_memory");
  EXPECT_EQ(kind("allocates tensors"), "out_of_memory");
  EXPECT_EQ(kind("recursion"), "crashed");
  auto message = [&records](const std::string& label) {
    return records.at("hostile/" + label + kPlain).at("failure").at("message").get<std::string>();
  };
  EXPECT_HAS(message("recursion"), "hostile.toml:");
  EXPECT_HAS(message("recursion"), ": in the statement: SIGSEGV: stack overflow");
  EXPECT_HAS(message("segfault"), ": in the statement: SIGSEGV: Segmentation fault");
  EXPECT_EQ(kind("closes descriptors"), "timed");
  EXPECT_EQ(kind("daemon"), "timed");
  EXPECT_EQ(kind("leaves files"), "timed");
  EXPECT_EQ(left_in_cache("left_here"), std::vector<fs::path>{});
  EXPECT_TRUE(stray_processes().empty());
}

}  // namespace
}  // namespace instr::e2e::timing_test
