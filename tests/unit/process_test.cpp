#include "core/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "core/base/program_end.h"
#include "tests/labels.h"
#include "tests/testing.h"
#include "tests/unit/container.h"
#include "tests/unit/forked.h"

namespace instr::process_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "Process.*:RunCommand.*:Spawn.*");

using namespace std::chrono_literals;

SpawnOptions shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

// A process whose output is a pipe.
struct Piped {
  explicit Piped(SpawnOptions options) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    from = Fd(ends[0]);
    const Fd to(ends[1]);
    options.descriptors = {{to.get(), 1}};
    process.emplace(value_of(Process::spawn(options)));
  }
  // Waits for output, and returns it.
  std::string text() const {
    char text[32] = {};
    EXPECT_GT(::read(from.get(), text, sizeof text - 1), 0);
    return text;
  }

  Fd from;
  std::optional<Process> process;
};

bool is_running(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return false;
  // A zombie that its new parent has not yet reaped is no longer running.
  auto state = text.rfind(") ");
  return state != std::string::npos && text[state + 2] != 'Z' && text[state + 2] != 'X';
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 12'000 && is_running(pid); ++i) std::this_thread::sleep_for(10ms);
  return !is_running(pid);
}

std::vector<int> open_descriptors() {
  std::vector<int> result;
  for (int fd = 0; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) result.push_back(fd);
  }
  return result;
}

TEST(RunCommand, KeepsTheFirstErrors) {
  SpawnOptions options;
  options.argv = {"sh", "-c", "echo first >&2; head -c 20000000 /dev/zero >&2; echo done"};
  const auto result = value_of(run_command(options));
  EXPECT_EQ(result.output, "done\n");
  EXPECT_EQ(result.errors.size(), std::size_t{16} << 20);
  EXPECT_TRUE(result.errors.starts_with("first\n"));
}

TEST(RunCommand, KeepsOutputErrorsAndExitCode) {
  auto result = value_of(run_command(shell("echo out; echo err >&2; exit 7")));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
}

TEST(RunCommand, PassesArgumentsUnchanged) {
  EXPECT_EQ(program_output({"printf", "%s|", "a b", "$HOME", "", "'\"\n"}), "a b|$HOME||'\"\n|");
}

TEST(RunCommand, CapturesLargeOutputsOfBothStreams) {
  auto result = value_of(run_command(
      shell("i=0; while [ $i -lt 64 ]; do head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2; "
            "i=$((i+1)); done")));
  EXPECT_EQ(result.output.size(), 64U * 65536U);
  EXPECT_EQ(result.errors.size(), 64U * 65536U);
}

TEST(RunCommand, StopTokenEndsACommandThatPrintsForever) {
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(50ms);
    source.request_stop();
  });
  EXPECT_FALSE(run_command(shell("cat /dev/zero"), source.get_token()));
}

TEST(RunCommand, InputIsEmptyByDefault) {
  auto result = value_of(run_command(shell("cat; echo done")));
  EXPECT_EQ(result.output, "done\n");
}

TEST(RunCommand, UnknownProgramIsAnErrorWithAdvice) {
  const auto unknown = run_command({.argv = {"no-such-program-anywhere"}});
  EXPECT_HAS(error_text(unknown), "no-such-program-anywhere");
  EXPECT_FALSE(unknown.error().advice.empty());
  EXPECT_HAS(error_text(run_command({.argv = {"/no/such/path"}})), "No such file");
  EXPECT_FALSE(run_command({}));
}

TEST(RunCommand, UnknownWorkingDirectoryIsAnError) {
  auto options = shell("true");
  options.working_directory = "/no/such/folder";
  EXPECT_HAS(error_text(run_command(options)), "/no/such/folder");
}

TEST(RunCommand, UsesTheGivenEnvironmentAndWorkingDirectory) {
  EXPECT_EQ(value_of(run_command({.argv = {"env"}, .environment = {{"ONE=1", "TWO=2"}}})).output,
            "ONE=1\nTWO=2\n");
  EXPECT_EQ(value_of(run_command({.argv = {"pwd"}, .working_directory = "/usr"})).output, "/usr\n");
}

TEST(RunCommand, KillsAProcessLeftBehindWithoutWaiting) {
  auto result = value_of(run_command(shell("sleep 1000 & echo $!")));
  EXPECT_EQ(result.exit_code, 0);
  pid_t left = std::stoi(result.output);
  EXPECT_TRUE(ends_soon(left));
}

TEST(RunCommand, StopTokenKillsACommandThatIgnoresSigterm) {
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  EXPECT_HAS(error_text(run_command(shell("trap '' TERM; while :; do sleep 1000; done"),
                                    source.get_token())),
             "interrupted");
}

TEST(RunCommand, ConcurrentCommandsKeepTheirOutputs) {
  std::vector<std::string> outputs(16);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&outputs, i] {
        auto result = run_command(shell("echo " + std::to_string(i)));
        if (result) outputs[static_cast<std::size_t>(i)] = result->output;
      });
    }
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(outputs[static_cast<std::size_t>(i)], std::to_string(i) + "\n");
  }
}

TEST(RunCommand, LeavesNoDescriptorsOpenHere) {
  auto before = open_descriptors();
  ASSERT_TRUE(run_command(shell("true")));
  EXPECT_FALSE(run_command(SpawnOptions{{"/no/such/path"}, {}, {}, {}, false}));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Spawn, ChildHasOnlyTheGivenDescriptors) {
  // Deliberately not close-on-exec, as inherited from careless parents.
  Fd leaky(::open("/dev/null", O_RDONLY));
  Fd file(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  auto options = shell("ls /proc/self/fd; readlink /proc/self/fd/5");
  options.descriptors = {{file.get(), 5}};
  auto result = value_of(run_command(options));
  // 3 is the folder that ls reads.
  EXPECT_EQ(split_lines(result.output),
            (std::vector<std::string>{"0", "1", "2", "3", "5", "/dev/zero"}));
}

TEST(Spawn, DescriptorsMaySwapNumbers) {
  Fd one(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  Fd two(::open("/dev/full", O_RDONLY | O_CLOEXEC));
  auto options = shell("readlink /proc/self/fd/" + std::to_string(one.get()) + " /proc/self/fd/" +
                       std::to_string(two.get()));
  options.descriptors = {{one.get(), two.get()}, {two.get(), one.get()}};
  EXPECT_EQ(value_of(run_command(options)).output, "/dev/full\n/dev/zero\n");
}

TEST(Spawn, PinnedLayoutIsTheSameEachTime) {
  auto options = shell("cat /proc/self/maps | grep -v heap; ulimit -s; ulimit -c; ulimit -n");
  options.environment = {{"PATH=/usr/bin:/bin"}};
  options.pin_layout = true;
  auto first = run_command(options);
  auto second = run_command(options);
  ASSERT_TRUE(first) << to_string(first.error());
  ASSERT_TRUE(second);
  EXPECT_EQ(first->output, second->output);
  EXPECT_HAS(first->output, "\n8192\n0\n1024\n");
}

TEST(Spawn, PinnedLayoutHasNoSmallProcessId) {
  const int status = exit_status_of(start_container([] {
    auto options = shell("echo $$");
    options.pin_layout = true;
    return std::stoi(run_command(options).value().output) > 256 ? 0 : 1;
  }));
  if (status == kNoContainers) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(status, 0);
}

TEST(Spawn, SignalsOfTheCallerAreNotInherited) {
  sigset_t usr1, before;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, &before);
  auto* old = ::signal(SIGTERM, SIG_IGN);
  auto result = run_command(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  ::signal(SIGTERM, old);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

// Some supervisors start programs with SIGCHLD ignored: the kernel then keeps no status.
TEST(RunCommand, AnUnknownStatusIsAFailure) {
  auto* old = ::signal(SIGCHLD, SIG_IGN);
  const auto lost = run_command(shell("exit 0"));
  const auto to_end = run_to_end(shell("exit 0"), {});
  ::signal(SIGCHLD, old);
  ASSERT_TRUE(lost && to_end);
  EXPECT_EQ(lost->exit_code, 255);
  EXPECT_EQ(*to_end, 255);
}

TEST(Signals, OfTheCallerAreReset) {
  Forked child([] {
    sigset_t all, now;
    ::sigfillset(&all);
    ::signal(SIGCHLD, SIG_IGN);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    reset_inherited_signals();
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(::sigismember(&now, SIGTERM), 0);
    EXPECT_EQ(value_of(run_command(shell("exit 3"))).exit_code, 3);
  });
  EXPECT_EQ(child.begin().end(), 0);
}

// Below nohup, the end of a terminal is no interruption.
TEST(Signals, AnIgnoredHangUpIsNoInterruption) {
  Forked child([] {
    ::signal(SIGHUP, SIG_IGN);
    const Interrupt interrupt(false);
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGTERM);  // the second interruption would end the process
    while (!interrupt.token().stop_requested()) std::this_thread::yield();
    auto options = shell("grep SigIgn /proc/self/status");
    EXPECT_EQ(value_of(run_command(options)).output, "SigIgn:\t0000000000000000\n");
    options.own_group = false;
    EXPECT_EQ(value_of(run_command(options)).output, "SigIgn:\t0000000000000001\n");
  });
  EXPECT_EQ(child.begin().end(), 0);
}

TEST(Process, StopsDescendantsInTheCallersGroup) {
  auto options = shell("sleep 1000 & echo $!; wait");
  options.own_group = false;
  Piped started(options);
  const pid_t descendant = std::stoi(started.text());
  started.process->stop(20s);
  EXPECT_TRUE(ends_soon(descendant));
}

TEST(Process, WaitForReturnsNothingWhileItRuns) {
  auto process = value_of(Process::spawn(shell("sleep 1000")));
  EXPECT_FALSE(process.wait_for(1ms));
  ::kill(process.pid(), SIGKILL);
  int status = process.wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(to_exit_code(status), 128 + SIGKILL);
  EXPECT_EQ(process.wait_for(1ms), status);  // may be called again
}

TEST(Process, WaitEndsAtAStopRequest) {
  auto process = value_of(Process::spawn(shell("sleep 1000")));
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(process.wait(source.get_token()));
  EXPECT_TRUE(is_running(process.pid()));
}

TEST(Process, StopSendsSigtermFirst) {
  Piped started(shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"));
  EXPECT_EQ(started.text(), "ready\n");  // before it, TERM would simply end the shell
  started.process->stop(60s);
  EXPECT_EQ(to_exit_code(value_of(started.process->wait_for(0ms))), 3);
}

TEST(Process, KillTreeKillsDescendantsInOtherGroups) {
  Piped started(shell("setsid sh -c 'echo $$; sleep 1000; true' & wait"));
  const pid_t other = std::stoi(started.text());
  ASSERT_NE(::getpgid(other), started.process->pid());
  kill_tree(started.process->pid());
  EXPECT_EQ(to_exit_code(started.process->wait()), 128 + SIGKILL);
  EXPECT_TRUE(ends_soon(other));
}

}  // namespace
}  // namespace instr::process_test
