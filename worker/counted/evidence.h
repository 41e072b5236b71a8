// Judges from what the blocks of a run cost whether the statement costs the same each time. Knows
// nothing of Callgrind, and allocates nothing.
#pragma once

#include <stdint.h>

#include "worker/counted/collected.h"
#include "worker/torch_side.h"

namespace instr {

struct BlockTotals {
  Events events;  // including the empty loop's
  uint64_t allocs;
  uint64_t alloc_bytes;

  bool operator==(const BlockTotals& other) const = default;
};

// The costs that are exact and do not depend on what ran before, unlike those of simulated caches.
struct Cost {
  uint64_t ir = 0;
  uint64_t allocs = 0;
  uint64_t alloc_bytes = 0;

  bool operator==(const Cost& other) const = default;
};

struct Block {
  uint64_t iterations = 0;
  BlockTotals totals{};
  int64_t growth = 0;         // of the live memory, in bytes
  uint64_t system_calls = 0;  // of the statement

  Cost cost() const { return {totals.events.ir(), totals.allocs, totals.alloc_bytes}; }
};

constexpr uint32_t kMaxBlocks = 24;
constexpr uint32_t kMaxSingles = 384;  // blocks of one iteration, for finding a period

class Evidence {
 public:
  explicit Evidence(BlockEntry entry = {}) : entry_(entry) {}

  // Takes in a block of any length, in the order in which they ran.
  void add(const Block& block);
  // Takes in a block whose cost is the count if nothing is in doubt: all of these have one length.
  void add_counted(const Block& block);
  // Takes in the block of twice that length that follows the last counted one.
  void add_doubled(const Block& block);
  // Takes in a block that is much longer.
  void add_long(const Block& block);
  // Takes in a block of one iteration; the next of these begins where it ended.
  void add_single(const Block& block);
  // Forgets the counted blocks: those that follow have another length.
  void restart();

  uint32_t blocks() const { return blocks_; }
  // The counted blocks: the last one, and the one whose instructions differ most from it.
  const BlockTotals& last() const { return counted_[blocks_ - 1].totals; }
  const BlockTotals& farthest() const;

  // Any two blocks differ by more than their lengths: the costs are not those of entering a block
  // and of so many equal iterations.
  bool is_uneven() const;
  // The statement can read a clock or a random device, or ask another process.
  bool has_system_calls() const { return has_system_calls_; }
  // The last two counted blocks are equal.
  bool has_equal_pair() const;
  // Enough counted blocks are equal to the last one, and outnumber the others.
  bool has_majority() const;
  // The counted blocks are equal, and so are the halves of the doubled one.
  bool holds_whole_periods() const;
  // The long block is not as many times more expensive as it is longer.
  bool has_rare_costs() const { return differs_long_; }
  // The last two counted blocks have left memory behind.
  bool grows() const { return grows_; }
  // The statement still leaves memory behind, or some blocks allocated more than others.
  bool changes_state() const { return allocates_unlike_ || grows_; }

  uint32_t singles() const { return known_singles_; }
  uint64_t cost_of_singles() const;  // instructions
  // The number of single iterations after which their costs repeat, if they were seen to differ and
  // to repeat at least three times; 0: none was found.
  uint64_t period() const;

  // A hash of all costs so far, in their order: the same statement in another process has the same,
  // unless something outside of it decides what it costs.
  uint64_t trace() const { return trace_; }

 private:
  // Takes in a block longer than the last counted one; true if it is not on a line with it.
  bool add_off_line(const Block& longer);
  bool are_on_line(const Block& one, const Block& other) const;

  BlockEntry entry_;

  // The first block of each length.
  static constexpr int kMaxLengths = 8;
  Block lengths_[kMaxLengths];
  int known_lengths_ = 0;
  bool has_unequal_ = false;  // two blocks of the same length
  bool has_system_calls_ = false;
  Block counted_[kMaxBlocks];
  uint32_t blocks_ = 0;
  Cost singles_[kMaxSingles];
  uint32_t known_singles_ = 0;
  bool differs_doubled_ = false;
  bool differs_long_ = false;
  bool allocates_unlike_ = false;
  bool grows_ = false;
  uint64_t trace_ = 14695981039346656037U;  // FNV-1a
};

}  // namespace instr
