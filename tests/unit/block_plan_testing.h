// Runs statements of known costs as a BlockPlan wants.
#pragma once

#include <functional>
#include <vector>

#include "worker/counted/block_plan.h"

namespace instr::block_plan_testing {

inline constexpr std::uint64_t kEntry = 20;  // instructions for entering a block

inline std::uint64_t warm_up_for(std::uint64_t iterations) {
  if (iterations >= 24) return 8;
  return iterations >= 6 ? 4 : 2;
}

inline PlanOptions options() { return {.warm_up_for = warm_up_for, .max_block = 960}; }

// A statement by what its iterations do, numbered from 0.
struct CostlyStatement {
  std::function<std::uint64_t(std::uint64_t)> cost;
  std::uint64_t system_calls = 0;
  std::uint64_t clock_readings = 0;
  std::int64_t growth = 0;
  bool can_note = false;
  std::uint64_t cpu_us = 0;    // of an iteration
  bool fills_a_cache = false;  // iterations are numbered from 0 again after each reset
};

inline CostlyStatement constant(std::uint64_t cost) {
  return {[cost](std::uint64_t) { return cost; }};
}

struct Result {
  BlockPlan plan;
  std::vector<PlannedBlock> blocks;  // without kDone

  std::uint64_t count(BlockKind kind) const {
    std::uint64_t count = 0;
    for (const PlannedBlock& block : blocks) count += block.kind == kind;
    return count;
  }
  std::uint64_t last_length(BlockKind kind) const {
    std::uint64_t length = 0;
    for (const PlannedBlock& block : blocks) {
      if (block.kind == kind) length = block.iterations;
    }
    return length;
  }
  std::uint64_t iterations_before(BlockKind kind) const {
    std::uint64_t sum = 0;
    for (const PlannedBlock& block : blocks) {
      if (block.kind == kind) break;
      sum += block.iterations;
    }
    return sum;
  }
};

// Runs the statement as planned.
inline Result run(const PlanOptions& plan_options, const CostlyStatement& statement) {
  Result result{BlockPlan(plan_options), {}};
  std::uint64_t iteration = 0;
  Block ended;
  for (;;) {
    PlannedBlock next = result.plan.next(ended);
    if (next.kind == BlockKind::kNoting && !statement.can_note) next = result.plan.skip_noting();
    if (next.kind == BlockKind::kDone) return result;
    result.blocks.push_back(next);
    if (statement.fills_a_cache && next.kind == BlockKind::kReset) iteration = 0;
    ended = {next.iterations,          {},
             statement.growth,         statement.system_calls,
             statement.clock_readings, next.iterations * statement.cpu_us};
    if (next.is_collected) ended.totals.events.of[0] = kEntry;
    for (std::uint64_t i = 0; i < next.iterations; ++i, ++iteration) {
      if (next.is_collected) ended.totals.events.of[0] += statement.cost(iteration);
    }
  }
}

}  // namespace instr::block_plan_testing
