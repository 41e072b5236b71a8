#include "worker/counted/block_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/block_plan_testing.h"

namespace instr::block_plan_test {
namespace {

using namespace block_plan_testing;

using Sequence = std::vector<std::pair<BlockKind, std::uint64_t>>;

Sequence sequence(const Result& done) {
  Sequence kinds;
  for (const PlannedBlock& block : done.blocks) kinds.emplace_back(block.kind, block.iterations);
  return kinds;
}

// The iterations until settling, at each block that has them.
std::vector<std::uint64_t> settling_of(const Result& done) {
  std::vector<std::uint64_t> left;
  for (const PlannedBlock& block : done.blocks) {
    if (block.settling_left) left.push_back(*block.settling_left);
  }
  return left;
}

TEST(BlockPlan, CheapStatementIsCountedInBlocksOf24) {
  const Result cheap = run(options(), constant(100));
  EXPECT_EQ(sequence(cheap), (Sequence{{BlockKind::kFirst, 1},
                                       {BlockKind::kProbe, 1},
                                       {BlockKind::kWarmUp, 3},
                                       {BlockKind::kSettling, 1},
                                       {BlockKind::kSettling, 1},
                                       {BlockKind::kSettling, 1},
                                       {BlockKind::kCounted, 24},
                                       {BlockKind::kCounted, 24},
                                       {BlockKind::kDoubled, 48},
                                       {BlockKind::kLong, 960}}));
  EXPECT_EQ(cheap.plan.warmup(), 8u);
  EXPECT_TRUE(cheap.plan.judge().is_steady);
  EXPECT_EQ(cheap.plan.judge().repeats, 0u);
}

TEST(BlockPlan, ProbeOfAVeryExpensiveStatementIsItsFirstBlock) {
  const Result expensive = run(options(), constant(60'000'000));
  EXPECT_EQ(sequence(expensive),
            (Sequence{{BlockKind::kFirst, 1}, {BlockKind::kProbe, 1}, {BlockKind::kCounted, 1}}));
  EXPECT_TRUE(expensive.blocks.back().ended_is_result);
  EXPECT_TRUE(expensive.plan.judge().is_steady);
}

TEST(BlockPlan, BlocksAreShorterForExpensiveStatements) {
  const std::pair<std::uint64_t, std::uint64_t> lengths[] = {
      {10'000, 24}, {100'000, 12}, {900'000, 6}, {10'000'000, 2}};
  for (const auto& [cost, length] : lengths) {
    EXPECT_EQ(run(options(), constant(cost)).last_length(BlockKind::kCounted), length) << cost;
  }
}

TEST(BlockPlan, WarmUpAndLengthMayBeGiven) {
  PlanOptions given = options();
  given.warmup = 5;
  given.iterations = 7;
  const Result short_run = run(given, constant(100));
  EXPECT_EQ(short_run.iterations_before(BlockKind::kCounted), 5u);
  EXPECT_EQ(short_run.plan.warmup(), 5u);
  EXPECT_EQ(short_run.last_length(BlockKind::kCounted), 7u);
  EXPECT_EQ(short_run.count(BlockKind::kProbe), 0u);
  EXPECT_EQ(short_run.count(BlockKind::kLong), 0u);
}

TEST(BlockPlan, AnIterationIsCountedOnceAndInAnotherProcess) {
  PlanOptions given = options();
  given.is_once = true;
  const Result first = run(given, constant(100));
  ASSERT_EQ(first.blocks.size(), 1U);
  EXPECT_EQ(first.blocks.front().kind, BlockKind::kCounted);
  EXPECT_EQ(first.blocks.front().iterations, 1U);
  EXPECT_TRUE(first.blocks.front().is_collected);
  EXPECT_EQ(first.plan.warmup(), 0U);
  EXPECT_TRUE(first.plan.judge().is_steady);
  EXPECT_EQ(first.plan.judge().repeats, 1U);

  given.warmup = 2;
  given.resets = true;
  const Result third = run(given, constant(100));
  ASSERT_EQ(third.blocks.size(), 3U);
  EXPECT_EQ(third.count(BlockKind::kFirst), 2U);
  EXPECT_EQ(third.iterations_before(BlockKind::kCounted), 2U);
  EXPECT_EQ(third.plan.warmup(), 2U);
}

TEST(BlockPlan, NotedCodeSettlesAtTheEndOfTheWarmUp) {
  CostlyStatement noted = constant(100);
  noted.can_note = true;
  const Result python = run(options(), noted);
  EXPECT_EQ(python.count(BlockKind::kNoting), 1u);
  EXPECT_EQ(python.plan.warmup(), 8u);
  EXPECT_EQ(python.iterations_before(BlockKind::kCounted), 8u);
  EXPECT_EQ(settling_of(python), (std::vector<std::uint64_t>{4, 3, 2, 1, 0}));
  PlanOptions resetting = options();
  resetting.resets = true;
  EXPECT_EQ(settling_of(run(resetting, noted)), (std::vector<std::uint64_t>{4, 3, 2, 1, 0}));
  std::vector<bool> are_collected;
  for (const PlannedBlock& block : python.blocks) {
    if (block.kind == BlockKind::kSettling) are_collected.push_back(block.is_collected);
  }
  EXPECT_EQ(are_collected, (std::vector<bool>{false, true, true, true}));
}

TEST(BlockPlan, CodeIsNotNotedInAShortWarmUp) {
  PlanOptions given = options();
  given.warmup = 2 + torch_side::kSettlingIterations;
  CostlyStatement noted = constant(100);
  noted.can_note = true;
  EXPECT_EQ(run(given, noted).count(BlockKind::kNoting), 0u);
  given.warmup = *given.warmup + 1;
  EXPECT_EQ(run(given, noted).count(BlockKind::kNoting), 1u);
}

// An iteration costs more, the more have run since the last reset.
TEST(BlockPlan, AnInterpreterIsResetBeforeEachCountedBlock) {
  PlanOptions python = options();
  python.resets = true;
  python.entry.has_collisions = true;
  CostlyStatement statement{[](std::uint64_t since_reset) { return 1000 + since_reset % 7; }};
  statement.fills_a_cache = true;
  const Result result = run(python, statement);
  EXPECT_GE(result.count(BlockKind::kCounted), 2u);
  EXPECT_TRUE(result.plan.evidence().has_equal_pair());
  EXPECT_TRUE(result.plan.judge().is_steady);
  for (std::size_t i = 1; i < result.blocks.size(); ++i) {
    const PlannedBlock& before = result.blocks[i - 1];
    if (result.blocks[i].kind != BlockKind::kCounted) continue;
    EXPECT_EQ(before.kind, BlockKind::kReset);
    EXPECT_EQ(before.iterations, result.blocks[i].iterations);
    EXPECT_FALSE(before.is_collected);
  }
}

// An interpreter's objects have other addresses in each iteration, some of which collide.
CostlyStatement collides(std::uint64_t in_100_000) {
  return {
      [=](std::uint64_t i) { return 100'000 + (i % 2 == 0 ? in_100_000 : i * i % in_100_000); }};
}

TEST(BlockPlan, FewCollisionsInAnInterpreterNeedAnotherProcess) {
  PlanOptions python = options();
  python.resets = true;
  const Result few = run(python, collides(50));
  EXPECT_EQ(few.count(BlockKind::kCounted), 4u);
  EXPECT_EQ(few.count(BlockKind::kSingle), 0u);
  EXPECT_TRUE(few.plan.judge().is_steady);
  EXPECT_EQ(few.plan.judge().repeats, 1u);
  CostlyStatement calls = collides(50);
  calls.system_calls = 1;
  const Result with_calls = run(python, calls);
  EXPECT_TRUE(with_calls.plan.judge().is_steady);
  EXPECT_EQ(with_calls.plan.judge().repeats, 3u);
  EXPECT_FALSE(run(python, collides(5000)).plan.judge().is_steady);
  EXPECT_FALSE(run(options(), collides(50)).plan.judge().is_steady) << "not an interpreter";
}

TEST(BlockPlan, OnlyCountedBlocksAreTheResult) {
  for (const bool resets : {false, true}) {
    PlanOptions given = options();
    given.resets = resets;
    const Result done = run(given, constant(100));
    for (std::size_t i = 1; i < done.blocks.size(); ++i) {
      EXPECT_EQ(done.blocks[i].ended_is_result, done.blocks[i - 1].kind == BlockKind::kCounted);
    }
  }
}

TEST(BlockPlan, ShortBlocksThatDifferAreFollowedByLongerOnes) {
  const Result thirds =
      run(options(),
          {[](std::uint64_t i) { return std::uint64_t{10'000'000} + (i % 3 == 0 ? 600 : 0); }});
  EXPECT_EQ(thirds.last_length(BlockKind::kCounted), 6u);
  EXPECT_TRUE(thirds.plan.judge().is_steady);
}

TEST(BlockPlan, BlocksHoldAPeriodThatSingleIterationsShow) {
  const Result refills =
      run(options(), {[](std::uint64_t i) { return std::uint64_t{i % 39 == 0 ? 900u : 100u}; }});
  EXPECT_GE(refills.count(BlockKind::kSingle), 3 * 39u);
  EXPECT_EQ(refills.last_length(BlockKind::kCounted), 39u);
  EXPECT_TRUE(refills.plan.judge().is_steady);
}

// Half an instruction is no rare cost: blocks of 24 hold whole periods.
TEST(BlockPlan, AlternatingCostsAreSteady) {
  const Result alternates = run(options(), {[](std::uint64_t i) { return 10'450 + 25 * (i % 2); }});
  EXPECT_TRUE(alternates.plan.judge().is_steady);
  EXPECT_EQ(alternates.plan.judge().repeats, 1u);
  EXPECT_EQ(alternates.last_length(BlockKind::kCounted), 24u);
  EXPECT_LE(alternates.count(BlockKind::kSingle), 24u);
}

TEST(BlockPlan, StatementThatNeverRepeatsIsNotSteady) {
  const Result grows = run(options(), {[](std::uint64_t i) { return 100 + i; }});
  EXPECT_EQ(grows.count(BlockKind::kCounted), kMaxBlocks);
  EXPECT_LE(grows.count(BlockKind::kSingle), kMaxSingles);
  EXPECT_FALSE(grows.plan.judge().is_steady);
  EXPECT_EQ(grows.plan.judge().repeats, 1u);
}

TEST(BlockPlan, StatementThatNeverRepeatsEndsAtALimitOfItsCost) {
  const Result grows = run(options(), {[](std::uint64_t i) { return 100'000'000 + i; }});
  EXPECT_EQ(grows.count(BlockKind::kCounted), 3u);  // with the probe more than 400,000,000
  EXPECT_FALSE(grows.plan.judge().is_steady);
}

TEST(BlockPlan, AReadingOfAClockNeedsOneMoreProcess) {
  CostlyStatement clock = constant(100);
  clock.clock_readings = 1;
  const Result reads = run(options(), clock);
  EXPECT_EQ(reads.count(BlockKind::kCounted), 2u);
  EXPECT_TRUE(reads.plan.judge().is_steady);
  EXPECT_EQ(reads.plan.judge().repeats, 1u);
}

TEST(BlockPlan, SystemCallsNeedMoreBlocksAndMoreProcesses) {
  CostlyStatement asking = constant(100);
  asking.system_calls = 1;
  const Result calls = run(options(), asking);
  EXPECT_EQ(calls.count(BlockKind::kCounted), kMaxBlocks);
  EXPECT_TRUE(calls.plan.judge().is_steady);
  EXPECT_EQ(calls.plan.judge().repeats, 3u);
}

TEST(BlockPlan, GrowthNeedsMoreBlocks) {
  CostlyStatement growing = constant(100);
  growing.growth = 48;
  const Result grows = run(options(), growing);
  EXPECT_EQ(grows.count(BlockKind::kCounted), kMaxBlocks);
  EXPECT_TRUE(grows.plan.evidence().changes_state());
}

TEST(BlockPlan, UnjudgedStatementEndsWithTheFirstEqualPair) {
  PlanOptions unjudged = options();
  unjudged.is_judged = false;
  CostlyStatement asking = constant(100);
  asking.system_calls = asking.clock_readings = 1;
  const Result calls = run(unjudged, asking);
  EXPECT_EQ(calls.count(BlockKind::kCounted), 2u);
  EXPECT_EQ(calls.count(BlockKind::kLong), 0u);
  EXPECT_TRUE(calls.plan.judge().is_steady);
  EXPECT_EQ(calls.plan.judge().repeats, 0u);
}

TEST(BlockPlan, SimulatedStatementHasOnlyItsOwnBlocks) {
  PlanOptions simulated = options();
  simulated.is_simulated = true;
  const Result cheap = run(simulated, constant(100));
  EXPECT_EQ(cheap.count(BlockKind::kDoubled), 1u);
  EXPECT_EQ(cheap.count(BlockKind::kLong), 0u);
  // Blocks of one iteration are doubled, too.
  EXPECT_EQ(run(simulated, constant(60'000'000)).last_length(BlockKind::kDoubled), 2u);
}

TEST(BlockPlan, CallsAreFollowedInTheLastBlock) {
  PlanOptions followed = options();
  followed.follow_calls = true;
  const Result cheap = run(followed, constant(100));
  EXPECT_EQ(cheap.blocks.back().kind, BlockKind::kFollowed);
  EXPECT_EQ(cheap.blocks.back().iterations, 6u);
  EXPECT_EQ(run(followed, constant(60'000'000)).blocks.back().iterations, 1u);
}

TEST(BlockPlan, FirstCallIsFollowedInAProcessOfItsOwn) {
  PlanOptions followed = options();
  followed.is_once = followed.follow_calls = followed.only_follow = true;
  const Result first = run(followed, constant(100));
  ASSERT_EQ(first.blocks.size(), 1u);
  EXPECT_EQ(first.blocks.front().kind, BlockKind::kFollowed);
}

TEST(BlockPlan, SlowStatementsHaveShortBlocksInEachProcess) {
  CostlyStatement slow = constant(500);
  slow.system_calls = 2;
  slow.cpu_us = 20'000;
  const Result first = run(options(), slow);
  EXPECT_TRUE(first.plan.is_slow());
  EXPECT_TRUE(first.plan.judge().is_steady);
  EXPECT_EQ(first.last_length(BlockKind::kCounted), 2u);
  EXPECT_EQ(first.count(BlockKind::kLong), 0u);
  EXPECT_LE(first.blocks.size(), 16u);
  // The other processes count the same blocks, however long these take there.
  PlanOptions again = options();
  again.is_slow = true;
  slow.cpu_us = 0;
  EXPECT_EQ(run(again, slow).plan.evidence().trace(), first.plan.evidence().trace());
  again.is_slow = false;
  slow.cpu_us = 20'000;
  EXPECT_EQ(run(again, slow).last_length(BlockKind::kCounted), 24u);
  slow.system_calls = 0;  // vector instructions that Valgrind computes in software
  EXPECT_FALSE(run(options(), slow).plan.is_slow());
}

TEST(BlockPlan, RunThatIsOverStaysOver) {
  Result cheap = run(options(), constant(100));
  EXPECT_EQ(cheap.plan.next({}).kind, BlockKind::kDone);
  EXPECT_EQ(cheap.plan.next({}).iterations, 0u);
}

}  // namespace
}  // namespace instr::block_plan_test
