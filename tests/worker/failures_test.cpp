// The worker reports and survives snippets that crash, hang or disturb the count.
#include <signal.h>

#include <chrono>
#include <thread>

#include "rig.h"

namespace instr::worker_tests::failures_test {
namespace {

struct Case {
  const char* snippet;
  const char* kind;
  const char* text;  // part of the message
};

void PrintTo(const Case& expected, std::ostream* out) { *out << expected.snippet; }

class WorkerFailures : public ::testing::TestWithParam<Case> {};

TEST_P(WorkerFailures, AreDistinguishedAndSurvived) {
  const Case& expected = GetParam();
  TestHost host = Rig::get().host();
  Request request{expected.snippet};
  request.memory_limit = 256 << 20;
  request.timeout_ms = std::string(expected.kind) == "timed_out" ? 500 : 120'000;
  Answer answer = host.measure(request);
  EXPECT_EQ(answer.message.verb, "failed");
  EXPECT_EQ(answer.kind(), expected.kind) << answer.text();
  EXPECT_HAS(answer.text(), expected.text);
  EXPECT_EQ(host.measure({"instr_canary_snippet"}).ir(), 1000);
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerFailures,
    ::testing::Values(Case{"throws_text", "exception", "no luck"},
                      Case{"throws_number", "exception", "not a std::exception"},
                      Case{"throws_torch", "exception", "[3, 3]"},
                      Case{"is_wrong", "definition_error", "the output is not a scalar"},
                      Case{"returns_early", "definition_error", "before its loop"},
                      Case{"no_such_snippet", "definition_error", "no_such_snippet"},
                      Case{"exits", "exited", "3"}, Case{"leaves", "exited", "4"},
                      Case{"aborts", "aborted", ""}, Case{"terminates", "aborted", "unseen"},
                      Case{"faults", "crashed", "SIGSEGV"},
                      Case{"overflows", "crashed", "stack overflow"},
                      Case{"kills_itself", "crashed", "SIGKILL"},
                      Case{"takes_all", "out_of_memory", "limit of 256 MiB"},
                      Case{"maps_much", "out_of_memory", "limit of 256 MiB, mappings"},
                      Case{"shares_much", "out_of_memory", "limit of 256 MiB, mappings"},
                      Case{"fills_a_memory_file", "out_of_memory", "a file that is larger"},
                      Case{"fills_memory_files", "out_of_memory", "limit of 256 MiB, mappings"},
                      Case{"shares_memory_out", "out_of_memory", "limit of 256 MiB, mappings"},
                      Case{"fills_its_folder", "out_of_memory", "in its folder are larger"},
                      Case{"toggles", "definition_error", "tells Callgrind"},
                      Case{"toggles_once", "definition_error", "tells Callgrind"},
                      Case{"toggles_in_set_up", "definition_error", "tells Callgrind"},
                      Case{"zeroes", "definition_error", "tells Callgrind"},
                      Case{"dumps", "definition_error", "tells Callgrind"},
                      Case{"stops", "definition_error", "tells Callgrind"},
                      Case{"restarts", "definition_error", "tells Callgrind"},
                      Case{"leaves_a_handler", "definition_error", "siglongjmp"},
                      Case{"starts_600_threads", "exited", "Max number of threads is too low"},
                      Case{"jumps_into_its_setup", "definition_error", "leaves its loop"},
                      Case{"leaves_a_running_thread", "definition_error", "another thread"},
                      Case{"leaves_a_thread", "definition_error", "another thread"},
                      Case{"hangs", "timed_out", "stopped after 0.5 s of CPU time"},
                      Case{"sleeps", "timed_out", "stopped after being idle for 0.5 s"}),
    [](const auto& each) { return std::string(each.param.snippet); });

TEST(WorkerSurvives, ClosedDescriptors) {
  Answer answer = Rig::get().host().measure({"closes_all"});
  EXPECT_TRUE(answer.measured()) << answer.text();
}

// The snippet needs a second of CPU time, and waits longer for it than its timeout.
TEST(WorkerSurvives, ABusyMachine) {
  TestHost host = Rig::get().host();
  const unsigned cores = std::thread::hardware_concurrency();
  SpawnOptions loop;
  loop.argv = {"sh", "-c", "while :; do :; done"};
  std::vector<Process> others;
  for (unsigned i = 0; i < 3 * cores; ++i) {
    auto other = Process::spawn(loop);
    ASSERT_TRUE(other) << to_string(other.error());
    others.push_back(*std::move(other));
  }
  Request request{"works_a_second"};
  request.timeout_ms = 2000;
  const auto begin = std::chrono::steady_clock::now();
  Answer answer = host.measure(request);
  EXPECT_TRUE(answer.measured()) << answer.text();
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

// Threads that start and end within the statement are part of it.
TEST(WorkerSurvives, ThreadsWithinTheStatement) {
  Answer answer = Rig::get().host().measure({"runs_threads"});
  EXPECT_TRUE(answer.measured()) << answer.text();
}

TEST(WorkerSurvives, FilesLeftInTheSnippetsFolder) {
  auto has_left = [](const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "left_here") return true;
    }
    return false;
  };
  {
    TestHost host = Rig::get().host();
    for (int i = 0; i < 2; ++i) {
      Answer answer = host.measure({"leaves_files"});
      EXPECT_TRUE(answer.measured()) << answer.text();
    }
    EXPECT_TRUE(has_left(Rig::get().work_dir()));  // has_left() finds such files
    EXPECT_TRUE(host.measure({"spin_10"}).measured());
    EXPECT_FALSE(has_left(Rig::get().work_dir()));
  }
}

TEST(WorkerSurvives, ASecondProcessInTheLoop) {
  TestHost host = Rig::get().host();
  EXPECT_TRUE(host.measure({"forks"}).measured());
  EXPECT_EQ(host.measure({"instr_canary_snippet"}).ir(), 1000);
}

TEST(WorkerSurvives, ADaemonAndKillsIt) {
  Answer answer = Rig::get().host().measure({"daemonises"});
  ASSERT_TRUE(answer.measured()) << answer.text();
  int daemon = atoi(answer.output().c_str());
  ASSERT_GT(daemon, 1) << answer.output();
  EXPECT_EQ(kill(daemon, 0), -1);
}

TEST(WorkerSurvives, OutputAndKeepsIt) {
  Answer answer = Rig::get().host().measure({"prints"});
  EXPECT_TRUE(answer.output().ends_with("\nso it goes\n"));
}

// Nothing of it is kept but the end.
TEST(WorkerSurvives, AGigabyteOfOutput) {
  const Answer answer = Rig::get().host().measure({"prints_a_gigabyte"});
  EXPECT_TRUE(answer.measured()) << answer.text();
  EXPECT_EQ(answer.output().size(), 4096u);
  EXPECT_TRUE(answer.output().ends_with("xthe end\n"));
}

TEST(WorkerSurvives, OtherSurroundings) {
  const Answer answer = Rig::get().host().measure({"describes_its_surroundings"});
  EXPECT_EQ(answer.output(), "localhost /proc/self/fd/101 1024 1024 1 usable\n");
}

TEST(WorkerSurvives, AFileThatIsNotAUnit) {
  auto host = WorkerProcess::fork(Rig::get().zygote());
  ASSERT_TRUE(host);
  auto reply = (*host)->request({"load", {{"path", "/nonexistent.so"}}}, std::chrono::minutes(1));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->verb, "failed");
  EXPECT_NE(reply->get("message").find("nonexistent"), std::string::npos);
}

TEST(WorkerSurvives, IndependentHosts) {
  TestHost first = Rig::get().host();
  TestHost second = Rig::get().host();
  std::string before = first.measure({"adds"}).counts();
  second.measure({"faults"});
  second.measure({"sums"});
  EXPECT_EQ(first.measure({"adds"}).counts(), before);
  EXPECT_EQ(second.measure({"adds"}).counts(), before);
}

}  // namespace
}  // namespace instr::worker_tests::failures_test
