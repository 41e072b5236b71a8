// Costs that only a long block contains.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/unit/block_plan_testing.h"

namespace instr::rare_costs_test {
namespace {

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
}  // namespace instr::rare_costs_test
