// Children of a host that use up their time, are idle, or only wait.
#include "worker/children.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <vector>

namespace instr::children_test {
namespace {

// Memory that the processes of a test share.
struct Page {
  std::atomic<pid_t> child{0};
  std::atomic<bool> may_end{false};
  std::atomic<int64_t> took_ms{0};
  std::atomic<CpuVerdict> stopped{CpuVerdict::kGoesOn};
};

int64_t own_cpu_ms() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
}

[[noreturn]] void spin() {
  for (;;) own_cpu_ms();
}

void spin_for(int64_t cpu_ms) {
  while (own_cpu_ms() < cpu_ms) {
  }
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

class Children : public ::testing::Test {
 protected:
  Children()
      : page_(new (mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0)) Page) {}
  ~Children() override { munmap(page_, sizeof(Page)); }

  // Starts a host that runs `body` in a child with this limit.
  pid_t start_host(const std::function<void()>& body, int64_t limit_ms) {
    const pid_t host = fork();
    if (host != 0) return host;
    adopt_orphans();
    ChildOutput output;
    const int64_t begin = now_ms();
    const Ended ended = run_in_child(
        [this, &body] {
          page_->child = getpid();
          body();
        },
        output, {limit_ms, limit_ms}, [] { return false; }, [] { return false; });
    page_->took_ms = now_ms() - begin;
    page_->stopped = ended.stopped;
    end_process();
  }

  CpuVerdict verdict_of(pid_t host) {
    waitpid(host, nullptr, 0);
    return page_->stopped;
  }

  Page* page_;
};

TEST_F(Children, AreStoppedWhenIdle) {
  EXPECT_EQ(verdict_of(start_host([] { pause(); }, 300)), CpuVerdict::kIdle);
}

TEST_F(Children, AreStoppedWhenTheyStopThemselves) {
  EXPECT_EQ(verdict_of(start_host([] { raise(SIGSTOP); }, 300)), CpuVerdict::kIdle);
}

TEST_F(Children, AreStoppedWhenTheirTimeIsUsedUp) {
  EXPECT_EQ(verdict_of(start_host(spin, 300)), CpuVerdict::kUsedUp);
}

TEST_F(Children, AreNotStoppedIfTheyEndInTime) {
  EXPECT_EQ(verdict_of(start_host([] { spin_for(100); }, 10'000)), CpuVerdict::kGoesOn);
}

TEST_F(Children, AreStoppedForTheTimeOfTheirChildren) {
  const auto body = [] {
    if (fork() == 0) spin();
    wait(nullptr);
  };
  EXPECT_EQ(verdict_of(start_host(body, 300)), CpuVerdict::kUsedUp);
}

TEST_F(Children, AreStoppedForTheTimeOfTheirDaemons) {
  const auto body = [] {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) spin();
      _exit(0);
    }
    wait(nullptr);
    pause();
  };
  EXPECT_EQ(verdict_of(start_host(body, 300)), CpuVerdict::kUsedUp);
}

// The child gets half a percent of the one CPU that it shares with others.
TEST_F(Children, AreNotStoppedOnABusyMachine) {
  constexpr int64_t kLimitMs = 300;
  const int cpu = sched_getcpu();
  std::vector<pid_t> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(fork());
    if (others.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to(cpu);
    spin();
  }
  const auto body = [cpu] {
    pin_to(cpu);
    setpriority(PRIO_PROCESS, 0, 19);
    spin_for(20);
  };
  EXPECT_EQ(verdict_of(start_host(body, kLimitMs)), CpuVerdict::kGoesOn);
  EXPECT_GT(page_->took_ms, kLimitMs) << "the machine was not busy";
  for (pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
}

// As in a paused container.
TEST_F(Children, AreNotStoppedIfTheirHostWasStoppedAsWell) {
  constexpr int64_t kLimitMs = 1000;
  const auto body = [this] {
    while (!page_->may_end) usleep(1000);
  };
  const pid_t host = start_host(body, kLimitMs);
  while (page_->child == 0) usleep(1000);
  kill(host, SIGSTOP);
  kill(page_->child, SIGSTOP);
  usleep(1'500'000);
  kill(page_->child, SIGCONT);
  kill(host, SIGCONT);
  page_->may_end = true;
  EXPECT_EQ(verdict_of(host), CpuVerdict::kGoesOn);
  EXPECT_GT(page_->took_ms, kLimitMs);
}

}  // namespace
}  // namespace instr::children_test
