// Decides which block of a run comes next and when to stop, from the costs of the blocks so far.
// Knows nothing of Callgrind, LibTorch or the language, and allocates nothing.
#pragma once

#include <stdint.h>

#include <optional>

#include "worker/counted/collected.h"
#include "worker/counted/device_counters.h"
#include "worker/torch_side.h"

namespace instr {

struct BlockTotals {
  Events events;  // including the empty loop's
  uint64_t allocs;
  uint64_t alloc_bytes;
  DeviceCounters device;

  bool operator==(const BlockTotals& other) const = default;
};

// The exact costs. Unlike those of simulated caches they do not depend on earlier code.
struct Cost {
  uint64_t ir = 0;
  uint64_t allocs = 0;
  uint64_t alloc_bytes = 0;

  bool operator==(const Cost& other) const = default;
};

struct Block {
  uint64_t iterations = 0;
  BlockTotals totals{};
  int64_t growth = 0;         // bytes by which the live memory grew
  uint64_t system_calls = 0;  // system calls by the statement that do not read a clock
  uint64_t clock_readings = 0;
  uint64_t cpu_us = 0;  // CPU time, also of processes that it waited for

  Cost cost() const { return {totals.events.ir(), totals.allocs, totals.alloc_bytes}; }
};

constexpr uint32_t kMaxBlocks = 24;
constexpr uint32_t kMaxSingles = 3072;  // blocks of one iteration, for finding a period

// Judges from the costs of a run's blocks if the statement costs the same each time.
class Evidence {
 public:
  explicit Evidence(BlockEntry entry = {}) : entry_(entry) {}

  // Blocks are added in the order in which they ran.
  void add(const Block& block);
  // Adds a block whose cost is the count if nothing is in doubt: all these have the same length.
  void add_counted(const Block& block);
  // Adds the block of twice that length that follows the last counted one.
  void add_doubled(const Block& block);
  void add_long(const Block& block);
  // Adds a block of one iteration that directly follows the previous single block.
  void add_single(const Block& block);
  // Forgets the counted blocks: later ones have another length, or begin when more has settled.
  // `unit` iterations cost a whole number of instructions: the length of a period, if one is known.
  void restart(uint64_t unit = 1);
  uint64_t unit() const { return unit_; }
  void forget_singles() { known_singles_ = 0; }

  uint32_t blocks() const { return blocks_; }
  const BlockTotals& last() const { return counted_[blocks_ - 1].totals; }
  // The counted block whose instructions differ most from the last one's.
  const BlockTotals& farthest() const;

  // Two blocks differ by more than their lengths: their costs are not those of an entry and of so
  // many equal iterations.
  bool is_uneven() const;
  // The statement can read a random device, or ask another process.
  bool has_system_calls() const { return has_system_calls_; }
  bool reads_clock() const { return reads_clock_; }
  bool has_equal_pair() const;
  // Enough counted blocks are equal to the last one, and outnumber the others.
  bool has_majority() const;
  // No counted block differs from the last one by more than collisions of addresses make out: the
  // statement has a counter, for example, whose value an interpreter keeps at another address in
  // each iteration.
  bool is_nearly_even() const;
  // The counted blocks are equal, and so are the halves of the doubled one.
  bool holds_whole_periods() const;
  // The long block is not as many times more expensive as it is longer.
  bool has_rare_costs() const { return differs_long_; }
  // True if that cannot be due to collisions of addresses, which an interpreter may have in the
  // long block alone.
  bool has_certain_rare_costs() const { return differs_long_ && !may_collide_long_; }
  // The last two counted blocks have left memory behind, or the long one has.
  bool grows() const { return grows_ || grows_long_; }
  // The statement still leaves memory behind, or some blocks allocated more than others.
  bool changes_state() const { return allocates_unlike_ || grows(); }

  uint32_t singles() const { return known_singles_; }
  uint64_t cost_of_singles() const;  // instructions
  // The number of single iterations after which their costs repeat, if they differ and repeat at
  // least three times; otherwise 0.
  uint64_t period() const;

  // A hash of all costs so far, in order. It differs in another process only if something outside
  // the statement affects the cost.
  uint64_t trace() const { return trace_; }

 private:
  // Adds a block longer than the last counted one; true if the two are not on a line.
  bool add_off_line(const Block& longer);
  bool are_on_line(const Block& one, const Block& other) const;
  bool allocate_on_line(const Block& one, const Block& other) const;
  bool are_alike(const Cost& one, const Cost& other) const;
  double distance_from_line(const Block& longer) const;

  BlockEntry entry_;
  uint64_t unit_ = 1;

  // The first block of each length.
  static constexpr int kMaxLengths = 8;
  Block lengths_[kMaxLengths];
  int known_lengths_ = 0;
  bool has_unequal_ = false;  // two blocks of the same length
  bool has_system_calls_ = false;
  bool reads_clock_ = false;
  Block counted_[kMaxBlocks];
  uint32_t blocks_ = 0;
  Block doubled_;  // no iterations: there was none
  Cost singles_[kMaxSingles];
  uint32_t known_singles_ = 0;
  bool differs_doubled_ = false;
  bool differs_long_ = false;
  bool may_collide_long_ = false;
  bool allocates_unlike_ = false;
  bool grows_ = false;
  bool grows_long_ = false;
  uint64_t trace_ = 14695981039346656037U;  // FNV-1a
};

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
