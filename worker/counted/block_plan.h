// Decides which block of a run comes next and when to stop, from the costs of the blocks so far.
// Knows nothing of Callgrind, LibTorch or the language, and allocates nothing.
#pragma once

#include <stdint.h>

#include <optional>

#include "worker/counted/evidence.h"

namespace instr {

// Blocks in the order of a run. Most runs end after kLong.
enum class BlockKind {
  kNotStarted,
  kFirst,     // the first iteration
  kNoting,    // the second iteration, whose code the interpreter notes
  kProbe,     // the iteration whose cost decides the length of counted blocks
  kWarmUp,    // most of the warm-up
  kSettling,  // a single iteration at the end of the warm-up
  kReset,     // follows a reset of the interpreter, and is as long as the counted blocks
  kCounted,   // costs the count, unless something is in doubt
  kDoubled,   // twice as long as the counted blocks
  kLong,      // much longer: contains rare costs
  kSingle,    // a single iteration, in search of a period
  kFollowed,  // notes the calls of the interpreter
  kDone
};

struct PlannedBlock {
  BlockKind kind = BlockKind::kNotStarted;
  uint64_t iterations = 0;  // 0 if kDone
  bool is_collected = false;
  // The interpreter's code is to be settled for this many more iterations before the block begins.
  std::optional<uint64_t> settling_left = {};
  // The block that has just ended is the result so far.
  bool ended_is_result = false;
};

struct PlanOptions {
  std::optional<uint64_t> warmup = {};  // iterations; absent: adapt
  bool is_once = false;                 // one iteration is counted, after `warmup` others
  uint64_t iterations = 0;              // iterations of each counted block; 0: adapt
  bool is_judged = true;                // checks that the count comes out again
  bool is_simulated = false;            // Callgrind simulates caches or branches
  bool follow_calls = false;
  bool only_follow = false;  // runs in a separate process: there is no second first call
  // The answer of BlockPlan::is_slow() in an earlier process, so that this one counts the same
  // blocks.
  std::optional<bool> is_slow = {};
  bool resets = false;  // an interpreter is reset before each block that is counted
  // From torch_side.h.
  uint64_t (*warm_up_for)(uint64_t iterations) = nullptr;
  uint64_t max_block = 0;
  BlockEntry entry = {};
};

struct Judgement {
  bool is_steady = false;
  uint32_t repeats = 0;  // steady only if the trace is the same in this many other processes
};

class BlockPlan {
 public:
  BlockPlan() = default;
  explicit BlockPlan(const PlanOptions& options) : options_(options), evidence_(options.entry) {}

  // Takes in the cost of the current block, which has ended, and returns the next block. The first
  // call begins the run, and ignores the cost.
  PlannedBlock next(const Block& ended);

  // Returns the block that comes instead of kNoting, if the code cannot be noted.
  PlannedBlock skip_noting() { return current_ = probe_or_warm_up(); }

  // The statement takes far more time than its instructions: it starts processes, for example.
  bool is_slow() const { return is_slow_; }
  // Iterations before the first counted block.
  uint64_t warmup() const { return warmup_; }
  const Evidence& evidence() const { return evidence_; }
  // Judges the counted blocks, of which there is at least one.
  Judgement judge() const;

 private:
  PlannedBlock decide(const Block& ended);
  PlannedBlock count_once();
  PlannedBlock reset_first(const PlannedBlock& wanted);
  PlannedBlock begin_counting() const;
  PlannedBlock probe_or_warm_up();
  PlannedBlock after_probe(const Block& probe);
  PlannedBlock warm_up_or_count();
  PlannedBlock settle_or_count();
  PlannedBlock after_counted(const Block& block);
  PlannedBlock after_long(const Block& block);
  PlannedBlock look_longer();
  PlannedBlock search_or_finish();
  PlannedBlock after_single(const Block& block);
  PlannedBlock follow_or_finish() const;

  void add_counted(const Block& block);
  bool is_nearly_even() const { return options_.resets && evidence_.is_nearly_even(); }
  bool has_enough_blocks() const;
  bool should_lengthen() const;
  PlannedBlock restart_with(uint64_t length, uint64_t unit = 1);
  bool seems_slow(const Block& block) const;
  bool lacks_rare_costs() const;
  bool may_look_further() const;
  bool may_search() const;
  uint64_t useful_period() const;
  uint32_t next_singles() const;

  PlanOptions options_;
  Evidence evidence_;
  PlannedBlock current_;
  PlannedBlock after_reset_;
  uint64_t warmup_ = 0;
  uint64_t block_length_ = 0;  // iterations of each counted block
  bool is_code_noted_ = false;
  uint64_t settling_ = 0;        // iterations left of the warm-up's end
  bool is_result_ = false;       // the block that has just ended is the result so far
  uint64_t counted_ = 0;         // instructions in all counted blocks
  uint32_t singles_wanted_ = 0;  // iterations before the next search for a period
  bool has_looked_longer_ = false;
  bool has_counted_again_ = false;  // counted once more after the first long block
  int found_periods_ = 0;
  bool is_slow_ = false;
};

}  // namespace instr
