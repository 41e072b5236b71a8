#include "core/measure/schedule.h"

#include <signal.h>

#include <limits>
#include <set>
#include <thread>

#include "core/base/environment.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/language_support.h"
#include "core/measure/measurer.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::schedule_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "Stopped.*:Unstartable.*");

using namespace std::chrono_literals;

// --- decisions

Candidate candidate(double seconds, std::uint64_t order) {
  Candidate result;
  result.seconds = seconds;
  result.order = order;
  return result;
}

constexpr double kMuch = 1000;  // left

TEST(Choose, NothingWithoutCandidates) { EXPECT_FALSE(choose({}, 0)); }

TEST(Choose, InOrderWhileMuchIsLeft) {
  EXPECT_EQ(choose({candidate(1, 5), candidate(2, 3), candidate(9, 4)}, kMuch), 1U);
}

TEST(Choose, AVariantThatWouldRunAloneAtTheEndGoesFirst) {
  EXPECT_EQ(choose({candidate(1, 0), candidate(2, 8), candidate(3, 9)}, 5), 2U);
  EXPECT_EQ(choose({candidate(1, 0), candidate(2, 8), candidate(3, 9)}, 7), 0U);
}

TEST(Choose, AUnitThatNeedsAnotherHostWaits) {
  auto busy = candidate(1, 0);
  busy.needs_another_host = true;
  EXPECT_EQ(choose({busy, candidate(1, 9)}, kMuch), 1U);
  EXPECT_EQ(choose({busy}, kMuch), 0U);
}

TEST(Choose, SkipsVariantsWithoutAZygote) {
  auto early = candidate(9, 0);
  early.zygote_ready = false;
  EXPECT_EQ(choose({early, candidate(1, 9)}, 10), 1U);
  EXPECT_FALSE(choose({early}, 10));
}

TEST(ShouldRetry, OnlyLostWorkersAndNotForever) {
  EXPECT_TRUE(should_retry(FailureKind::kWorkerLost, 1, 2));
  EXPECT_TRUE(should_retry(FailureKind::kWorkerLost, 2, 2));
  EXPECT_FALSE(should_retry(FailureKind::kWorkerLost, 3, 2));
  EXPECT_FALSE(should_retry(FailureKind::kWorkerLost, 1, 0));
  for (auto kind : {FailureKind::kCrashed, FailureKind::kAborted, FailureKind::kExited,
                    FailureKind::kException, FailureKind::kTimedOut, FailureKind::kOutOfMemory,
                    FailureKind::kNoProfile, FailureKind::kCompileError}) {
    EXPECT_FALSE(should_retry(kind, 1, 9)) << to_string(kind);
  }
}

TEST(DefaultMemoryLimit, LeavesMemoryForAllJobs) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(default_memory_limit(64 * kGiB, 2), 8 * kGiB);
  EXPECT_EQ(default_memory_limit(8 * kGiB, 2), 3 * kGiB);
  EXPECT_EQ(default_memory_limit(8 * kGiB, 0), 6 * kGiB);
}

std::set<std::string> names_in(const std::vector<std::string>& environment) {
  std::set<std::string> names;
  for (const auto& entry : environment) {
    EXPECT_HAS(entry, "=");
    const std::string name = entry.substr(0, entry.find('='));
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
  }
  return names;
}

TEST(PinnedEnvironment, IsCompleteAndIndependentOfTheCaller) {
  const std::set<std::string> names = names_in(pinned_environment(CpuClass::kAvx2));
  for (const char* name : {"PATH", "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "GLIBC_TUNABLES"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const char* name : {"HOME", "USER", "LD_LIBRARY_PATH", "LD_PRELOAD"}) {
    EXPECT_FALSE(names.contains(name)) << name;
  }
  // Equally many in each class: a lookup of a missing variable costs instructions for each.
  EXPECT_EQ(names_in(pinned_environment(CpuClass::kPlain)), names);
}

// --- workers that cannot start; real ones are in tests/worker

class Unstartable : public ::testing::Test {
 protected:
  // A program in Valgrind's place.
  std::filesystem::path script(const std::string& text) {
    auto path = folder_.path() / "valgrind";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::unique_ptr<Scheduler> start(const std::filesystem::path& valgrind, bool fresh = false) {
    ScheduleOptions options;
    options.find_worker = [this](Language) -> Expected<WorkerProgram> {
      return WorkerProgram{folder_.path() / "worker", {}, pinned_environment(cpu_class())};
    };
    options.valgrind.program = valgrind;
    options.jobs = 2;
    options.config.retries = retries_;
    options.config.isolation = fresh ? Isolation::kProcess : Isolation::kFork;
    return value_of(Scheduler::start(
        options, {[this](const std::string& key) { started_.push_back(key); },
                  [this](Measurement measurement) { done_.push_back(std::move(measurement)); }}));
  }

  static std::vector<CompiledVariant> some(int count) {
    std::vector<CompiledVariant> result(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      auto& each = result[static_cast<std::size_t>(i)];
      each.variant.key = "v" + std::to_string(i);
      each.variant.backend = i % 2 == 0 ? Backend::kEager : Backend::kTorchScript;
      each.unit = "unit" + std::to_string(i % 3) + ".so";
    }
    return result;
  }

  TemporaryFolder folder_;
  int retries_ = 1;
  std::vector<std::string> started_;
  std::vector<Measurement> done_;
};

TEST_F(Unstartable, ReportsItsOutputAndFailsEachVariantOnce) {
  for (bool fresh : {false, true}) {
    done_.clear();
    started_.clear();
    auto scheduler = start(script("echo cannot load libtorch.so >&2; exit 3"), fresh);
    scheduler->add(some(7));
    EXPECT_TRUE(scheduler->wait({}));
    ASSERT_EQ(done_.size(), 7U);
    EXPECT_EQ(started_.size(), 7U);
    for (const auto& each : done_) {
      const auto& failure = std::get<Failure>(each.outcome);
      EXPECT_EQ(failure.kind, FailureKind::kWorkerLost);
      EXPECT_HAS(failure.message, "cannot load libtorch.so");
    }
    EXPECT_HAS(error_text(scheduler->hello(Language::kCpp, {})), "cannot load libtorch.so");
  }
}

TEST_F(Unstartable, AMissingValgrindIsNamed) {
  auto scheduler = start("no-such-valgrind");
  auto hello = scheduler->hello(Language::kCpp, {});
  ASSERT_FALSE(hello);
  EXPECT_HAS(hello.error().what, "no-such-valgrind");
  EXPECT_FALSE(hello.error().advice.empty());
}

TEST_F(Unstartable, AWorkerOfAnotherAbiIsRefused) {
  auto scheduler = start(script("printf 'hello\\tabi=0\\n' >&3; exec sleep 1000"));
  EXPECT_HAS(error_text(scheduler->hello(Language::kCpp, {})), "ABI");
}

TEST_F(Unstartable, AWorkerThatDiesAtEachRequestIsGivenUp) {
  auto scheduler = start(script("printf 'hello\\tabi=1\\n' >&3; read line <&3; exit"));
  scheduler->add(some(3));
  EXPECT_TRUE(scheduler->wait({}));
  ASSERT_EQ(done_.size(), 3U);
  for (const auto& each : done_) {
    EXPECT_EQ(std::get<Failure>(each.outcome).kind, FailureKind::kWorkerLost);
  }
}

class Stopped : public Unstartable, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(ForkedAndFresh, Stopped, ::testing::Bool());

TEST_P(Stopped, AStopEndsTheWaitAndAllProcesses) {
  retries_ = 0;  // else a killed attempt would wait for a retry
  auto pid_file = folder_.path() / "pid";
  auto scheduler =
      start(script("echo $$ >" + pid_file.string() + ".$$; exec sleep 1000"), GetParam());
  scheduler->add(some(4));
  auto pids = [&] {
    std::vector<pid_t> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      auto name = entry.path().filename().string();
      if (name.starts_with("pid.")) result.push_back(std::stoi(name.substr(4)));
    }
    return result;
  };
  const std::size_t started = GetParam() ? 2 : 1;  // one for each attempt, or a shared one
  while (pids().size() < started) std::this_thread::sleep_for(5ms);
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(scheduler->wait(source.get_token()));
  scheduler.reset();
  for (pid_t pid : pids()) EXPECT_NE(::kill(pid, 0), 0) << pid;
  EXPECT_TRUE(done_.empty());  // ends caused by our own stop are no results
}

TEST_F(Unstartable, NothingToDoIsDoneAtOnce) {
  auto scheduler = start("no-such-valgrind");
  EXPECT_TRUE(scheduler->wait({}));
}

// --- The memory of the machine ---

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

class MachineMemory : public ::testing::Test {
 protected:
  void set(const std::string& file, const std::string& text) {
    const fs::path path = root_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::uint64_t limit_of(const std::string& groups) {
    return read_group_limit(groups, root_.path());
  }

  TemporaryFolder root_;
};

TEST_F(MachineMemory, IsTheLeastLimitOfAGroupAndThoseThatItIsIn) {
  set("a/memory.max", "1000");
  set("a/b/memory.max", "max");
  set("a/b/c/memory.max", "2000");
  EXPECT_EQ(limit_of("0::/a/b/c\n"), 1000u);
  EXPECT_EQ(limit_of("0::/\n"), kNoLimit);
}

// In a container, the group's own files are at the root.
TEST_F(MachineMemory, HasTheLimitOfTheRoot) {
  set("memory.max", "4096");
  EXPECT_EQ(limit_of("0::/\n"), 4096u);
  EXPECT_EQ(limit_of("0::/../elsewhere\n"), 4096u);
}

TEST_F(MachineMemory, KnowsTheFirstVersionOfGroups) {
  set("memory/docker/x/memory.limit_in_bytes", "123456");
  EXPECT_EQ(limit_of("12:cpu,cpuacct:/y\n4:memory:/docker/x\n"), 123456u);
}

TEST_F(MachineMemory, IsAtMostThatOfTheMachine) {
  EXPECT_GT(machine_memory(), std::uint64_t{64} << 20);
  EXPECT_EQ(limit_of("no group"), kNoLimit);
}

}  // namespace
}  // namespace instr::schedule_test
