#include "core/measure/schedule.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <set>
#include <thread>

#include "core/base/private_folder.h"
#include "core/measure/pinned_environment.h"
#include "core/measure/schedule_plan.h"

namespace instr {
namespace {

using namespace std::chrono_literals;

// --- decisions

TEST(CoresFor, BetweenOneAndAll) {
  EXPECT_EQ(cores_for(1, 2), 1);
  EXPECT_EQ(cores_for(2, 2), 2);
  EXPECT_EQ(cores_for(8, 2), 2);
  EXPECT_EQ(cores_for(8, 64), 8);
  EXPECT_EQ(cores_for(2, 1), 1);
  EXPECT_EQ(cores_for(0, 4), 1);
  EXPECT_EQ(cores_for(1, 0), 1);
}

Candidate candidate(int cores, std::uint64_t order) {
  Candidate result;
  result.cores = cores;
  result.order = order;
  return result;
}

TEST(Choose, NothingWhereNothingFits) {
  EXPECT_FALSE(choose({}, 64));
  EXPECT_FALSE(choose({candidate(2, 0)}, 1));
  EXPECT_FALSE(choose({candidate(1, 0)}, 0));
}

TEST(Choose, InOrderAmongEquals) {
  EXPECT_EQ(choose({candidate(1, 5), candidate(1, 3), candidate(1, 4)}, 1), 1U);
}

TEST(Choose, NarrowOnesFirst) {
  EXPECT_EQ(choose({candidate(2, 0), candidate(1, 9)}, 2), 1U);
  EXPECT_EQ(choose({candidate(2, 0)}, 2), 0U);
}

TEST(Choose, WideOnesFirstWhileAZygoteStarts) {
  EXPECT_EQ(choose({candidate(1, 0), candidate(2, 9)}, 2, true), 1U);
  EXPECT_EQ(choose({candidate(1, 0), candidate(2, 9)}, 1, true), 0U);
}

TEST(Choose, AUnitLoadedByAnIdleHostGoesFirst) {
  auto loaded = candidate(1, 9);
  loaded.has_idle_host = true;
  EXPECT_EQ(choose({candidate(1, 0), loaded}, 1), 1U);
}

TEST(Choose, AUnitWithoutHostGoesBeforeASecondHostOfAnother) {
  auto busy = candidate(1, 0);
  busy.busy_hosts = 1;
  EXPECT_EQ(choose({busy, candidate(1, 9)}, 1), 1U);
  EXPECT_EQ(choose({busy}, 1), 0U);
}

TEST(Choose, SkipsVariantsWithoutAZygote) {
  auto early = candidate(1, 0);
  early.zygote_ready = false;
  EXPECT_EQ(choose({early, candidate(1, 9)}, 1), 1U);
  EXPECT_FALSE(choose({early}, 64));
}

// All of a mixed load is started, for any number of cores, and never on more than those.
TEST(Choose, EverythingIsStartedWithinTheCores) {
  for (int jobs : {1, 2, 3, 64}) {
    std::vector<Candidate> waiting;
    for (int i = 0; i < 50; ++i) {
      waiting.push_back(candidate(cores_for(1 + i % 5, jobs), static_cast<std::uint64_t>(i)));
    }
    std::vector<int> running;
    int free = jobs;
    std::size_t started = 0;
    while (!waiting.empty() || !running.empty()) {
      if (auto next = choose(waiting, free)) {
        free -= waiting[*next].cores;
        running.push_back(waiting[*next].cores);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*next));
        ++started;
      } else {
        ASSERT_FALSE(running.empty()) << "stuck with " << jobs << " cores";
        free += running.front();
        running.erase(running.begin());
      }
      ASSERT_GE(free, 0);
    }
    EXPECT_EQ(started, 50U);
    EXPECT_EQ(free, jobs);
  }
}

TEST(ShouldRetry, OnlyLostWorkersAndNotForEver) {
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

TEST(PinnedEnvironment, IsCompleteAndIndependentOfTheCaller) {
  std::set<std::string> names;
  for (const auto& entry : pinned_environment()) {
    auto name = entry.substr(0, entry.find('='));
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_NE(entry.find('='), std::string::npos);
  }
  for (const char* name : {"PATH", "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "GLIBC_TUNABLES"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const char* name : {"HOME", "USER", "LD_LIBRARY_PATH", "LD_PRELOAD"}) {
    EXPECT_FALSE(names.contains(name)) << name;
  }
}

// --- workers that cannot start; real ones are in tests/worker

class Unstartable : public testing::Test {
 protected:
  // A program in Valgrind's place.
  std::filesystem::path script(const std::string& text) {
    auto path = folder_->path() / "valgrind";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::unique_ptr<Scheduler> start(const std::filesystem::path& valgrind, bool fresh = false) {
    ScheduleOptions options;
    options.worker = folder_->path() / "worker";
    options.valgrind = valgrind;
    options.jobs = 2;
    options.retries = retries_;
    options.fresh_process = fresh;
    auto scheduler = Scheduler::start(
        options, [this](const std::string& key) { started_.push_back(key); },
        [this](Measurement measurement) { done_.push_back(std::move(measurement)); });
    EXPECT_TRUE(scheduler) << to_string(scheduler.error());
    return *std::move(scheduler);
  }

  static std::vector<CompiledVariant> some(int count) {
    std::vector<CompiledVariant> result(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      auto& each = result[static_cast<std::size_t>(i)];
      each.variant.key = "v" + std::to_string(i);
      each.variant.runtime = i % 2 == 0 ? Runtime::kEager : Runtime::kTorchScript;
      each.unit = "unit" + std::to_string(i % 3) + ".so";
    }
    return result;
  }

  Expected<PrivateFolder> folder_ = PrivateFolder::make();
  int retries_ = 1;
  std::vector<std::string> started_;
  std::vector<Measurement> done_;
};

TEST_F(Unstartable, SaysWhatItPrintedAndFailsEachVariantOnce) {
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
      EXPECT_NE(failure.message.find("cannot load libtorch.so"), std::string::npos)
          << failure.message;
    }
    auto hello = scheduler->hello({});
    ASSERT_FALSE(hello);
    EXPECT_NE(hello.error().what.find("cannot load libtorch.so"), std::string::npos);
  }
}

TEST_F(Unstartable, AMissingValgrindIsNamed) {
  auto scheduler = start("no-such-valgrind");
  auto hello = scheduler->hello({});
  ASSERT_FALSE(hello);
  EXPECT_NE(hello.error().what.find("no-such-valgrind"), std::string::npos);
  EXPECT_FALSE(hello.error().advice.empty());
}

TEST_F(Unstartable, AWorkerOfAnotherAbiIsRefused) {
  auto scheduler = start(script("printf 'hello\\tabi=0\\n' >&3; exec sleep 1000"));
  auto hello = scheduler->hello({});
  ASSERT_FALSE(hello);
  EXPECT_NE(hello.error().what.find("ABI"), std::string::npos) << to_string(hello.error());
}

TEST_F(Unstartable, OneThatDiesWheneverItIsAskedIsGivenUp) {
  auto scheduler = start(script("printf 'hello\\tabi=1\\n' >&3; read line <&3; exit"));
  scheduler->add(some(3));
  EXPECT_TRUE(scheduler->wait({}));
  ASSERT_EQ(done_.size(), 3U);
  for (const auto& each : done_) {
    EXPECT_EQ(std::get<Failure>(each.outcome).kind, FailureKind::kWorkerLost);
  }
}

class Stopped : public Unstartable, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(ForkedAndFresh, Stopped, testing::Bool());

TEST_P(Stopped, AStopEndsAWaitAndAllProcesses) {
  retries_ = 0;  // else a killed one would only wait to be tried again
  auto pid_file = folder_->path() / "pid";
  auto scheduler =
      start(script("echo $$ >" + pid_file.string() + ".$$; exec sleep 1000"), GetParam());
  scheduler->add(some(4));
  auto pids = [&] {
    std::vector<pid_t> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_->path())) {
      auto name = entry.path().filename().string();
      if (name.starts_with("pid.")) result.push_back(std::stoi(name.substr(4)));
    }
    return result;
  };
  const std::size_t started = GetParam() ? 2 : 1;  // one for each attempt, or one for all
  while (pids().size() < started) std::this_thread::sleep_for(5ms);
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(scheduler->wait(source.get_token()));
  scheduler.reset();
  for (pid_t pid : pids()) EXPECT_NE(::kill(pid, 0), 0) << pid;
  EXPECT_TRUE(done_.empty());  // what our own stop did is not a result
}

TEST_F(Unstartable, NothingToDoIsDoneAtOnce) {
  auto scheduler = start("no-such-valgrind");
  EXPECT_TRUE(scheduler->wait({}));
}

TEST_F(Unstartable, AFolderForProfilesThatCannotBeMadeIsAnError) {
  ScheduleOptions options;
  options.keep_profiles = "/dev/null/profiles";
  auto scheduler = Scheduler::start(
      options, [](const std::string&) {}, [](Measurement) {});
  ASSERT_FALSE(scheduler);
  EXPECT_NE(scheduler.error().what.find("/dev/null/profiles"), std::string::npos);
}

}  // namespace
}  // namespace instr
