#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/unit/block_plan_testing.h"
#include "worker/counted/block_plan.h"

namespace instr::evidence_test {
namespace {

constexpr std::uint64_t kEntry = 20;

Block block(std::uint64_t iterations, std::uint64_t ir, std::uint64_t allocs = 0) {
  Block block{iterations, {}, 0, 0};
  block.totals.events.of[0] = ir;
  block.totals.allocs = allocs;
  block.totals.alloc_bytes = 8 * allocs;
  return block;
}

// Returns a block of a statement with a constant cost.
Block even(std::uint64_t iterations, std::uint64_t each = 100) {
  return block(iterations, kEntry + iterations * each);
}

Evidence after_blocks(const std::vector<std::uint64_t>& costs) {
  Evidence evidence;
  for (std::uint64_t cost : costs) evidence.add_counted(block(24, cost));
  return evidence;
}

TEST(Evidence, BlocksOfAnyLengthAreOnOneLine) {
  Evidence evidence;
  for (int i = 0; i < 3; ++i) evidence.add(even(1));
  evidence.add_counted(even(24));
  evidence.add_counted(even(24));
  evidence.add_doubled(even(48));
  evidence.add_long(even(960));
  EXPECT_FALSE(evidence.is_uneven());
  EXPECT_TRUE(evidence.has_equal_pair());
  EXPECT_TRUE(evidence.holds_whole_periods());
  EXPECT_FALSE(evidence.changes_state());
}

// In an interpreter, the entry of a block of one iteration differs from that of longer blocks.
TEST(Evidence, TheCostOfAnEntryDependsOnTheLanguage) {
  const auto with_entry = [](const BlockEntry& entry) {
    Evidence evidence(entry);
    evidence.add(block(1, 1700 + 500));
    evidence.add_counted(block(24, 1600 + 24 * 500));
    evidence.add_counted(block(24, 1600 + 24 * 500));
    evidence.add_doubled(block(48, 1600 + 48 * 500));
    return evidence;
  };
  EXPECT_FALSE(with_entry({}).holds_whole_periods());
  EXPECT_TRUE(with_entry({.max_ir = 3000}).holds_whole_periods());
  EXPECT_TRUE(with_entry({.max_ir = 3000}).is_uneven());
  EXPECT_FALSE(with_entry({.max_ir = 3000, .is_same_for_one = false}).is_uneven());
}

TEST(Evidence, OneInstructionMoreAnywhereIsUneven) {
  for (std::uint64_t iterations : {1, 24, 48}) {
    Evidence evidence;
    evidence.add(even(1));
    evidence.add(even(24));
    Block other = even(iterations);
    other.totals.events.of[0] += 1;
    evidence.add(other);
    EXPECT_TRUE(evidence.is_uneven()) << iterations;
  }
}

TEST(Evidence, AnExpensiveStartOfABlockIsUneven) {
  Evidence evidence;
  evidence.add(block(1, 5000 + 100));
  evidence.add(block(24, 5000 + 2400));
  EXPECT_TRUE(evidence.is_uneven());
}

TEST(Evidence, AMajorityIsFourEqualBlocksThatOutnumberTheOthers) {
  EXPECT_FALSE(after_blocks({1, 2, 2}).has_majority());
  EXPECT_TRUE(after_blocks({1, 2, 2, 2, 2}).has_majority());
  EXPECT_TRUE(after_blocks({2, 1, 2, 1, 2, 2, 2}).has_majority());
  EXPECT_FALSE(after_blocks({1, 3, 1, 3, 1, 2, 2, 2, 2}).has_majority());
  EXPECT_FALSE(after_blocks({2, 2, 2, 2, 1}).has_majority());
}

TEST(Evidence, TheFarthestBlockIsComparedWithTheLast) {
  EXPECT_EQ(after_blocks({10, 90, 60, 50}).farthest().events.ir(), 10U);
  EXPECT_EQ(after_blocks({50, 90, 60, 50}).farthest().events.ir(), 90U);
}

TEST(Evidence, FindsThePeriodOfSingleIterations) {
  const auto period_of = [](const std::vector<std::uint64_t>& costs, int times) {
    Evidence evidence;
    for (int i = 0; i < times; ++i) {
      for (std::uint64_t cost : costs) evidence.add_single(block(1, cost));
    }
    return evidence.period();
  };
  EXPECT_EQ(period_of({1, 2}, 3), 2U);
  EXPECT_EQ(period_of({1, 1, 2}, 3), 3U);
  EXPECT_EQ(period_of({1, 1, 2}, 2), 0U);  // only twice
  EXPECT_EQ(period_of({7}, 30), 0U);       // nothing differs
  std::vector<std::uint64_t> hundred(100, 6);
  hundred[99] = 5000;
  EXPECT_EQ(period_of(hundred, 3), 100U);
}

TEST(Evidence, GrowingMemoryAndUnequalAllocationsChangeState) {
  Evidence grows;
  for (int i = 0; i < 2; ++i) {
    Block growing = even(24);
    growing.growth = 240;
    grows.add_counted(growing);
  }
  EXPECT_TRUE(grows.grows());
  EXPECT_TRUE(grows.changes_state());
  grows.add_counted(even(24));  // the growth has stopped
  EXPECT_FALSE(grows.changes_state());
  Evidence once;  // a buffer that is made in the first block and kept
  Block first = even(24);
  first.growth = 1000;
  once.add_counted(first);
  once.add_counted(even(24));
  EXPECT_FALSE(once.changes_state());
  Evidence unequal;
  unequal.add_counted(block(24, 100, 1));
  unequal.add_counted(block(24, 100, 2));
  EXPECT_TRUE(unequal.changes_state());
  Evidence longer;
  longer.add_counted(block(24, 100, 24));
  longer.add_doubled(block(48, 200, 49));
  EXPECT_TRUE(longer.changes_state());
}

TEST(Evidence, TheTraceDependsOnAllCostsInOrder) {
  EXPECT_EQ(after_blocks({1, 2}).trace(), after_blocks({1, 2}).trace());
  EXPECT_NE(after_blocks({1, 2}).trace(), after_blocks({2, 1}).trace());
  EXPECT_NE(after_blocks({1, 2}).trace(), after_blocks({1, 2, 2}).trace());
}

TEST(Evidence, SystemCallsAreNoted) {
  Evidence evidence;
  EXPECT_FALSE(evidence.has_system_calls());
  Block calling = even(24);
  calling.system_calls = 1;
  evidence.add_counted(calling);
  EXPECT_TRUE(evidence.has_system_calls());
}

// --- Rare costs ---

using namespace block_plan_testing;

PlanOptions interpreter() {
  PlanOptions given = options();
  given.resets = true;
  given.max_block = 256;
  given.entry = {.max_ir = 3000, .is_same_for_one = false, .has_collisions = true};
  return given;
}

// The rule in docs/DETERMINISM.md: how rare a cost may be to be seen, by the cost of an iteration.
TEST(RareCosts, AreSeenUpToAPeriodThatDependsOnTheCost) {
  const std::pair<std::uint64_t, std::uint64_t> cases[] = {
      {400, 960}, {2000, 200}, {10'000, 200}, {20'000, 100}};
  for (const auto& [cost, period] : cases) {
    for (bool is_interpreter : {false, true}) {
      PlanOptions given = options();
      if (is_interpreter) given = interpreter();
      if (period > given.max_block) continue;
      for (std::uint64_t begin = 0; begin < period; begin += 7) {
        const Result result = run(given, {[&, cost = cost, period = period](std::uint64_t i) {
                                    return cost + ((begin + i) % period == 0 ? 2 * cost : 0);
                                  }});
        EXPECT_EQ(result.last_length(BlockKind::kCounted), period) << cost << " " << begin;
        EXPECT_TRUE(result.plan.judge().is_steady) << cost << " " << begin;
      }
    }
  }
}

TEST(RareCosts, ThatBecameCommonAreCounted) {
  const Result late =
      run(options(), {[](std::uint64_t i) { return std::uint64_t{i < 300 ? 14u : 3617u}; }});
  EXPECT_TRUE(late.plan.judge().is_steady);
  EXPECT_EQ(late.plan.evidence().last().events.ir(), kEntry + 24 * 3617);
  EXPECT_EQ(late.count(BlockKind::kSingle), 0u);
}

TEST(RareCosts, WithoutAPeriodAreNotSteady) {
  const auto squares_from = [](std::uint64_t first) {
    return [=](std::uint64_t i) {
      const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(i)));
      return std::uint64_t{root * root == i && i >= first ? 5000u : 17u};
    };
  };
  EXPECT_FALSE(run(options(), {squares_from(60)}).plan.judge().is_steady);
  CostlyStatement growing{squares_from(700)};
  growing.growth = 8;  // has a mark of its own
  EXPECT_TRUE(run(options(), growing).plan.judge().is_steady);
}

TEST(RareCosts, HaveAPeriodBesideAShorterOne) {
  const Result both =
      run(options(), {[](std::uint64_t i) {
            return std::uint64_t{100u + (i % 3 == 0 ? 5 : 0) + (i % 600 == 0 ? 7000 : 0)};
          }});
  EXPECT_EQ(both.last_length(BlockKind::kCounted), 600u);
  EXPECT_TRUE(both.plan.judge().is_steady);
}

// In an interpreter, names that reach other addresses in a longer block may collide there.
TEST(RareCosts, AreNoCollisions) {
  const PlanOptions python = interpreter();
  const auto collide = [&](std::uint64_t extra) {
    CostlyStatement statement{
        [=](std::uint64_t since_reset) { return 8000 + (since_reset > 100 ? extra : 0); }};
    statement.fills_a_cache = true;
    return run(python, statement);
  };
  EXPECT_TRUE(collide(100).plan.judge().is_steady);
  EXPECT_FALSE(collide(800).plan.judge().is_steady);
}

}  // namespace
}  // namespace instr::evidence_test
