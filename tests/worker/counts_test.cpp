// The cost of a valid snippet is counted to the instruction.

#include <cmath>

#include "core/profile/profile.h"
#include "rig.h"

namespace instr::worker_tests::counts_test {
namespace {

TEST(WorkerCounts, HelloDescribesTheWorker) {
  Rig::get().zygote();
  const wire::Message& hello = Rig::get().hello();
  EXPECT_EQ(hello.get("version"), wire::kWorkerVersion);
  EXPECT_EQ(hello.get("cpu_capability"), "AVX2");
  EXPECT_NE(hello.get("libtorch_version"), "");
  EXPECT_NE(hello.get("cpu_features").find("avx2"), std::string::npos);
}

TEST(WorkerCounts, TheCanaryCostsItsInstructions) {
  Answer answer = Rig::get().empty_host().measure({"instr_canary_snippet"});
  ASSERT_TRUE(answer.measured()) << answer.text();
  EXPECT_EQ(answer.ir(), 1000);
  EXPECT_EQ(answer.number("steady"), 1u);
}

TEST(WorkerCounts, CountsGrowWithTheWorkToTheInstruction) {
  TestHost host = Rig::get().host();
  double base = host.measure({"spin_10"}).ir();
  EXPECT_EQ(host.measure({"spin_1000"}).ir() - base, 3 * 990);
  EXPECT_EQ(host.measure({"spin_1000000"}).ir() - base, 3 * 999'990);
}

TEST(WorkerCounts, CountsDoNotDependOnTheLengthOfBlocks) {
  TestHost host = Rig::get().host();
  for (int iterations : {2, 7, 100}) {
    Request request{"spin_1000"};
    request.iterations = iterations;
    Answer answer = host.measure(request);
    EXPECT_EQ(answer.number("iterations"), static_cast<std::uint64_t>(iterations));
    EXPECT_EQ(answer.ir(), host.measure({"spin_1000"}).ir());
  }
}

TEST(WorkerCounts, AlternatingIterationsHaveTheirMean) {
  TestHost host = Rig::get().host();
  for (int iterations : {0, 3, 6, 39}) {
    auto ir = [&](const char* snippet) {
      Request request{snippet};
      request.iterations = iterations;
      return host.measure(request).ir();
    };
    EXPECT_EQ(ir("takes_turns_1000") - ir("takes_turns_10"), 3 * 990 / 3) << iterations;
  }
}

TEST(WorkerCounts, RareCostsAreAveragedOverWholePeriods) {
  TestHost host = Rig::get().host();
  const Answer answer = host.measure({"works_every_100th"});
  EXPECT_EQ(answer.number("steady"), 1u);
  EXPECT_EQ(answer.number("iterations"), 100u);
  EXPECT_DOUBLE_EQ(answer.ir() - host.measure({"counts_to_100"}).ir(), 3 * 999 / 100.0);
}

TEST(WorkerCounts, CostsThatOnlyTheLongBlockSeesAreAveraged) {
  TestHost host = Rig::get().host();
  for (int period : {250, 1000}) {
    const std::string rest = std::to_string(period);
    const Answer answer = host.measure({"works_every_" + rest + "th"});
    EXPECT_EQ(answer.number("steady"), 1u) << period;
    EXPECT_EQ(answer.number("iterations"), static_cast<std::uint64_t>(period));
    const double without = host.measure({"counts_to_" + rest}).ir();
    EXPECT_DOUBLE_EQ(answer.ir() - without, 3 * 999.0 / period);
  }
}

TEST(WorkerCounts, WhatHasSettledInTheLongBlockIsCounted) {
  TestHost host = Rig::get().host();
  const Answer late = host.measure({"works_from_the_301st"});
  EXPECT_EQ(late.number("steady"), 1u);
  EXPECT_GT(late.ir(), 3001);
  const Answer once = host.measure({"works_once_late"});
  EXPECT_EQ(once.number("steady"), 1u);
  EXPECT_EQ(once.ir(), std::floor(once.ir()));
}

TEST(WorkerCounts, RareCostsWithoutAPeriodAreNotSteady) {
  EXPECT_EQ(Rig::get().host().measure({"works_at_squares"}).number("steady"), 0u);
}

// A process costs few instructions and much time.
TEST(WorkerCounts, StatementsThatStartProcessesGetFewIterations) {
  const Answer answer = Rig::get().host().measure({"starts_a_process"});
  EXPECT_TRUE(answer.measured()) << answer.text();
  EXPECT_LE(answer.number("iterations"), 2u);
}

TEST(WorkerCounts, RandomCostsAreNotSteady) {
  TestHost host = Rig::get().host();
  for (const char* snippet :
       {"asks_the_time", "asks_the_time_late", "rebuilds_by_the_clock", "counts_cycles",
        "draws_a_number", "draws_seldom", "is_seeded_by_chance", "is_seeded_by_the_second",
        "asks_its_number"}) {
    const Answer answer = host.measure({snippet});
    ASSERT_TRUE(answer.measured()) << answer.text();
    EXPECT_EQ(answer.number("steady"), 0u) << snippet << ": " << answer.counts();
  }
  EXPECT_EQ(host.measure({"asks_the_time_in_vain"}).number("steady"), 1u);
}

TEST(WorkerCounts, LeakingMemoryChangesState) {
  TestHost host = Rig::get().host();
  EXPECT_EQ(host.measure({"leaks"}).number("changes_state"), 1u);
  EXPECT_EQ(host.measure({"allocates_3"}).number("changes_state"), 0u);
}

TEST(WorkerCounts, WarmupAndIterationsAreAsRequested) {
  Request request{"adds"};
  request.warmup = 17;
  request.iterations = 5;
  Answer answer = Rig::get().host().measure(request);
  EXPECT_EQ(answer.number("warmup"), 17u);
  EXPECT_EQ(answer.number("iterations"), 5u);
  request.warmup = 0;
  answer = Rig::get().host().measure(request);
  EXPECT_EQ(answer.number("warmup"), 0U);
  EXPECT_EQ(answer.number("iterations"), 1U);
}

TEST(WorkerCounts, ExpensiveSnippetsGetFewIterations) {
  Answer answer = Rig::get().host().measure({"spin_1000000"});
  EXPECT_LE(answer.number("iterations"), 2u);
  EXPECT_EQ(answer.number("steady"), 1u);
}

TEST(WorkerCounts, AllocationsAreExact) {
  Answer answer = Rig::get().host().measure({"allocates_3"});
  EXPECT_EQ(answer.for_each("allocs_2"), 3);
  EXPECT_EQ(answer.for_each("alloc_bytes_2"), 300);
  EXPECT_EQ(answer.number("peak_bytes"), 100u);
}

TEST(WorkerCounts, PeakCountsBytesThatAreLiveTogether) {
  Answer answer = Rig::get().host().measure({"holds_3"});
  EXPECT_EQ(answer.for_each("allocs_2"), 2);
  EXPECT_EQ(answer.number("peak_bytes"), 1100u);
}

TEST(WorkerCounts, PeakExcludesLeaksOfEarlierIterations) {
  Answer answer = Rig::get().host().measure({"leaks"});
  EXPECT_EQ(answer.for_each("allocs_2"), 1);
  EXPECT_EQ(answer.number("peak_bytes"), 100u);
  EXPECT_EQ(answer.number("steady"), 1u);
}

TEST(WorkerCounts, TheProfileContainsOnlyTheLastBlock) {
  Answer answer = Rig::get().host().measure({"adds"});
  auto profile = read_profile(Rig::get().work_dir() / "shared" / answer.message.get("profile"));
  ASSERT_TRUE(profile) << to_string(profile.error());
  EXPECT_EQ(profile->totals.at(0), answer.number("ir_2"));
  std::uint64_t sum = 0;
  for (const auto& function : profile->functions) sum += function.self.at(0);
  EXPECT_EQ(sum, answer.number("ir_2"));
}

// The snippets whose counts the tests below compare.
const char* const kSensitive[] = {"feels_history",  "adds",  "multiplies",
                                  "differentiates", "sorts", "allocates_3"};

std::map<std::string, std::string> counts_of(TestHost host) {
  std::map<std::string, std::string> counts;
  for (const char* snippet : kSensitive) counts[snippet] = host.measure({snippet}).counts();
  return counts;
}

TEST(WorkerCounts, AreSteady) {
  TestHost host = Rig::get().host();
  for (const char* snippet : kSensitive) {
    Answer answer = host.measure({snippet});
    EXPECT_EQ(answer.number("steady"), 1u) << snippet << ": " << answer.counts();
    EXPECT_GT(answer.ir(), 0) << snippet;
  }
}

TEST(WorkerCounts, DoNotDependOnEarlierMeasurements) {
  auto first = counts_of(Rig::get().host());
  TestHost host = Rig::get().host();
  for (const char* other : {"sums", "throws_torch", "faults", "leaks"}) host.measure({other});
  EXPECT_EQ(counts_of(std::move(host)), first);
}

TEST(WorkerCounts, DoNotDependOnTheProcess) {
  auto first = counts_of(Rig::get().host());
  std::string folder(120, 'x');  // a longer path for the worker and its profiles
  auto other = Rig::get().start(folder);
  EXPECT_EQ(counts_of(TestHost(other, true)), first);
}

TEST(WorkerCounts, AreTheSameWithoutTheForkServer) {
  for (const char* snippet : {"differentiates", "sorts"}) {
    Answer forked = Rig::get().host().measure({snippet});
    auto alone = WorkerProcess::fork(Rig::get().zygote());
    ASSERT_TRUE(alone);
    ASSERT_TRUE((*alone)->request({"load", {{"path", Rig::get().unit().string()}}},
                                  std::chrono::minutes(1)));
    Answer direct = ask(**alone, {snippet}, false);
    ASSERT_TRUE(direct.measured()) << direct.text();
    EXPECT_EQ(direct.counts(), forked.counts());
  }
}

TEST(WorkerCounts, AllThreadsOfAParallelOperatorAreCounted) {
  TestHost host = Rig::get().host();
  double alone = host.measure({"sums"}).ir();
  Request request{"sums"};
  request.threads = 2;
  double together = host.measure(request).ir();
  EXPECT_GE(together, alone);
  EXPECT_LT(together, 1.5 * alone);
}

TEST(WorkerCounts, ATorchScriptZygoteCountsTheSame) {
  TestHost host = Rig::get().host(WarmUp::kTorchScript);
  EXPECT_EQ(host.measure({"instr_canary_snippet"}).ir(), 1000);
  Answer answer = host.measure({"differentiates"});
  EXPECT_EQ(answer.number("steady"), 1u);
  EXPECT_EQ(host.measure({"differentiates"}).counts(), answer.counts());
}

}  // namespace
}  // namespace instr::worker_tests::counts_test
