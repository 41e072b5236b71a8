// Decides from recorded texts of /proc if a process has used up its time or is idle.
#include "worker/cpu_watch.h"

#include "tests/testing.h"
#include "worker/native/snippet_times.h"

namespace instr::cpu_watch_test {
namespace {

using namespace testing;

constexpr CpuLimits kTwoSeconds{2000, 2000};

// Passes the values to the watch at its interval; returns the verdicts up to the first that ends
// it.
std::vector<CpuVerdict> look_at(CpuWatch watch, const std::vector<CpuUse>& uses) {
  std::vector<CpuVerdict> verdicts;
  int64_t now = 0;
  for (const CpuUse& use : uses) {
    verdicts.push_back(watch.look(now += watch.interval_ms(), use));
    if (verdicts.back() != CpuVerdict::kGoesOn) break;
  }
  return verdicts;
}

// The values of `count` looks at a process that uses so much CPU time in each interval.
std::vector<CpuUse> steadily(int64_t cpu_ms, int count, bool has_work = false) {
  std::vector<CpuUse> uses;
  for (int i = 1; i <= count; ++i) uses.push_back({cpu_ms * i, has_work});
  return uses;
}

TEST(ParseStat, ReadsTheKernelsText) {
  const auto stat = value_of(parse_stat(
      "8754 (cat) R 8745 8745 5380 0 -1 4194304 99 0 0 0 12 3 100 5 20 0 1 0 80650 3133440 381 "
      "18446744073709551615 93829161766912 93829161786793 140731211073824 0 0 0 0 0 0 0 0 0 17 1 "
      "0 0 0 0 0 93829161802800 93829161804416 93829447790592\n"));
  EXPECT_EQ(stat.parent, 8745);
  EXPECT_EQ(stat.state, 'R');
  EXPECT_EQ(stat.cpu_ms, 1200);  // including its children
}

TEST(ParseStat, ANameMayContainAnyText) {
  const auto stat = value_of(
      parse_stat("7 (a) R 1 (b c)) S 6 7 7 0 -1 4194304 0 0 0 0 0 1 0 0 20 0 1 0 5 6 7\n"));
  EXPECT_EQ(stat.parent, 6);
  EXPECT_EQ(stat.state, 'S');
  EXPECT_EQ(stat.cpu_ms, 10);
}

TEST(ParseStat, RefusesMalformedTexts) {
  for (const char* text :
       {"", "7", "7 (a)", "7 (a) S 6", "7 (a) S x 7 7 0 -1 4 0 0 0 0 0 1 0 0 20"})
    EXPECT_FALSE(parse_stat(text)) << text;
}

TEST(CpuWatch, StopsAProcessThatHasUsedItsTime) {
  const auto verdicts = look_at({kTwoSeconds, 0}, steadily(200, 20, true));
  EXPECT_EQ(verdicts.size(), 10u);
  EXPECT_EQ(verdicts.back(), CpuVerdict::kUsedUp);
}

TEST(CpuWatch, EarlierTimeDoesNotCount) {
  EXPECT_EQ(look_at({kTwoSeconds, 0, {500, false}}, steadily(1000, 20)).size(), 3u);
}

TEST(CpuWatch, StopsAnIdleProcess) {
  const auto verdicts = look_at({kTwoSeconds, 0}, steadily(0, 20));
  EXPECT_EQ(verdicts.size(), 10u);
  EXPECT_EQ(verdicts.back(), CpuVerdict::kIdle);
}

TEST(CpuWatch, AProcessThatUsesLittleIsIdle) {
  EXPECT_EQ(look_at({kTwoSeconds, 0}, steadily(19, 20)).back(), CpuVerdict::kIdle);
}

TEST(CpuWatch, AProcessThatWaitsForABusyMachineIsNotIdle) {
  EXPECT_EQ(look_at({kTwoSeconds, 0}, steadily(0, 100, true)).back(), CpuVerdict::kGoesOn);
  EXPECT_EQ(look_at({kTwoSeconds, 0}, steadily(21, 90)).back(), CpuVerdict::kGoesOn);
}

TEST(CpuWatch, WorkEndsAnIdleTime) {
  auto uses = steadily(0, 9);
  uses.push_back({250, false});
  for (int i = 0; i < 9; ++i) uses.push_back(uses.back());
  EXPECT_EQ(look_at({kTwoSeconds, 0}, uses).back(), CpuVerdict::kGoesOn);
  uses.push_back(uses.back());
  EXPECT_EQ(look_at({kTwoSeconds, 0}, uses).back(), CpuVerdict::kIdle);
}

TEST(CpuWatch, TimeWithoutALookIsNotIdle) {
  CpuWatch watch(kTwoSeconds, 0);
  EXPECT_EQ(watch.look(200, {}), CpuVerdict::kGoesOn);
  EXPECT_EQ(watch.look(3'600'000, {}), CpuVerdict::kGoesOn);
  EXPECT_EQ(watch.look(7'200'000, {}), CpuVerdict::kGoesOn);
}

TEST(CpuWatch, TimeOfAnEndedProcessStillCounts) {
  CpuWatch watch(kTwoSeconds, 0);
  EXPECT_EQ(watch.look(200, {1500, true}), CpuVerdict::kGoesOn);
  EXPECT_EQ(watch.look(400, {100, true}), CpuVerdict::kGoesOn);
  EXPECT_EQ(watch.look(600, {600, true}), CpuVerdict::kUsedUp);
}

TEST(CpuWatch, LooksOftenEnoughForItsLimit) {
  EXPECT_EQ(CpuWatch({100'000, 60'000}, 0).interval_ms(), 1000);
  EXPECT_EQ(CpuWatch({500, 500}, 0).interval_ms(), 50);
  EXPECT_EQ(CpuWatch({1, 1}, 0).interval_ms(), 10);
  EXPECT_EQ(CpuWatch(CpuLimits{}, 0).interval_ms(), 1000);
}

// Two snippets that are run alternately.
TEST(SnippetTimes, EachSnippetHasItsOwnTime) {
  SnippetTimes limits({1000, 1000});
  EXPECT_TRUE(limits.look(0, 0, {0, true}));
  EXPECT_TRUE(limits.look(0, 900, {900, true}));
  EXPECT_TRUE(limits.look(1, 1000, {1000, true}));
  EXPECT_TRUE(limits.look(1, 1900, {1900, true}));
  EXPECT_TRUE(limits.look(std::nullopt, 5000, {5000, true}));  // a verification
  EXPECT_TRUE(limits.look(7, 6000, {6000, true}));             // there is no such snippet
  EXPECT_TRUE(limits.look(1, 7000, {7000, true}));
  EXPECT_FALSE(limits.look(1, 7200, {7200, true}));
  EXPECT_EQ(limits.verdict(), CpuVerdict::kUsedUp);
  EXPECT_EQ(limits.limit_ms(), 1000);
}

TEST(SnippetTimes, ASleepingSnippetIsStoppedAfterItsOwnTime) {
  SnippetTimes limits({1000, 1000});
  limits.look(1, 0, {});
  std::int64_t now = 0;
  while (now < 5000 && limits.look(1, now += 100, {})) {
  }
  EXPECT_EQ(now, 1000);
  EXPECT_EQ(limits.verdict(), CpuVerdict::kIdle);
}

TEST(SnippetTimes, WithoutLimitsNothingIsStopped) {
  SnippetTimes limits({});
  EXPECT_TRUE(limits.look(0, 0, {}));
  EXPECT_TRUE(limits.look(0, 1'000'000, {1'000'000, true}));
}

}  // namespace
}  // namespace instr::cpu_watch_test
