#include "worker/evidence.h"

namespace instr {
namespace {

// Of entering a block: switching the collection on and off, and the loop around the iterations. An
// interpreter does more for that.
constexpr int64_t kMostEntryCost = 1000;
constexpr int64_t kMostEntryAllocs = 8;
constexpr int64_t kMostEntryBytes = 1024;
constexpr uint32_t kEnoughEqual = 4;

int64_t ir_of(const Block& block) { return static_cast<int64_t>(block.totals.events.ir()); }

// Whether two numbers of blocks of different lengths are on one line with whole steps, which begins
// at most `most_entry` above 0.
bool are_on_line(int64_t shorter, int64_t longer, int64_t short_length, int64_t long_length,
                 int64_t most_entry) {
  const int64_t steps = long_length - short_length;
  if ((longer - shorter) % steps != 0) return false;
  const int64_t entry = shorter - (longer - shorter) / steps * short_length;
  return entry >= 0 && entry <= most_entry;
}

bool are_on_line(const Block& one, const Block& other, uint64_t BlockTotals::*number,
                 int64_t most_entry) {
  const Block& shorter = one.iterations < other.iterations ? one : other;
  const Block& longer = one.iterations < other.iterations ? other : one;
  return are_on_line(static_cast<int64_t>(shorter.totals.*number),
                     static_cast<int64_t>(longer.totals.*number),
                     static_cast<int64_t>(shorter.iterations),
                     static_cast<int64_t>(longer.iterations), most_entry);
}

bool allocate_on_line(const Block& one, const Block& other) {
  return are_on_line(one, other, &BlockTotals::allocs, kMostEntryAllocs) &&
         are_on_line(one, other, &BlockTotals::alloc_bytes, kMostEntryBytes);
}

bool are_on_line(const Block& one, const Block& other) {
  const Block& shorter = one.iterations < other.iterations ? one : other;
  const Block& longer = one.iterations < other.iterations ? other : one;
  return allocate_on_line(one, other) &&
         are_on_line(ir_of(shorter), ir_of(longer), static_cast<int64_t>(shorter.iterations),
                     static_cast<int64_t>(longer.iterations), kMostEntryCost);
}

bool same_cost(const BlockTotals& one, const BlockTotals& other) {
  return one.events.ir() == other.events.ir() && one.allocs == other.allocs &&
         one.alloc_bytes == other.alloc_bytes;
}

}  // namespace

void Evidence::add(const Block& block) {
  const uint64_t numbers[] = {block.iterations, block.totals.events.ir(), block.totals.allocs,
                              block.totals.alloc_bytes};
  for (uint64_t number : numbers) trace_ = (trace_ ^ number) * 1099511628211U;
  has_system_calls_ = has_system_calls_ || block.system_calls != 0;
  for (int i = 0; i < known_lengths_; ++i) {
    if (lengths_[i].iterations != block.iterations) continue;
    has_unequal_ = has_unequal_ || !same_cost(lengths_[i].totals, block.totals);
    return;
  }
  if (known_lengths_ < kMostLengths) lengths_[known_lengths_++] = block;
}

void Evidence::add_counted(const Block& block) {
  add(block);
  if (blocks_ == kMostBlocks) return;
  counted_[blocks_++] = block;
  if (blocks_ < 2) return;
  const Block& before = counted_[blocks_ - 2];
  const bool allocates_alike = before.totals.allocs == block.totals.allocs &&
                               before.totals.alloc_bytes == block.totals.alloc_bytes;
  const bool grows = before.growth > 0 && block.growth > 0;
  changes_state_ = changes_state_ || !allocates_alike || grows;
}

void Evidence::add_doubled(const Block& block) {
  add(block);
  differs_doubled_ = !are_on_line(counted_[blocks_ - 1], block);
  changes_state_ = changes_state_ || !allocate_on_line(counted_[blocks_ - 1], block);
}

void Evidence::add_long(const Block& block) {
  add(block);
  differs_long_ = !are_on_line(counted_[blocks_ - 1], block);
  changes_state_ = changes_state_ || !allocate_on_line(counted_[blocks_ - 1], block);
}

void Evidence::add_single(const Block& block) {
  add(block);
  if (known_singles_ == kMostSingles) return;
  singles_[known_singles_++] = {block.totals.events.ir(), block.totals.allocs,
                                block.totals.alloc_bytes};
}

void Evidence::restart() {
  blocks_ = 0;
  differs_doubled_ = false;
  differs_long_ = false;
}

const BlockTotals& Evidence::farthest() const {
  const int64_t last = ir_of(counted_[blocks_ - 1]);
  const Block* found = &counted_[0];
  const auto distance = [&](const Block& one) {
    const int64_t apart = ir_of(one) - last;
    return apart < 0 ? -apart : apart;
  };
  for (uint32_t i = 1; i < blocks_; ++i) {
    if (distance(counted_[i]) > distance(*found)) found = &counted_[i];
  }
  return found->totals;
}

bool Evidence::is_uneven() const {
  for (int i = 1; i < known_lengths_; ++i) {
    if (!are_on_line(lengths_[0], lengths_[i])) return true;
  }
  return has_unequal_;
}

bool Evidence::holds_whole_periods() const {
  for (uint32_t i = 0; i < blocks_; ++i) {
    if (!(counted_[i].totals == last())) return false;
  }
  return !differs_doubled_;
}

bool Evidence::has_equal_pair() const {
  return blocks_ >= 2 && counted_[blocks_ - 2].totals == counted_[blocks_ - 1].totals;
}

bool Evidence::has_majority() const {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < blocks_; ++i) equal += counted_[i].totals == last();
  return has_equal_pair() && equal >= kEnoughEqual && equal > blocks_ - equal;
}

uint64_t Evidence::period() const {
  for (uint32_t period = 2; 3 * period <= known_singles_; ++period) {
    const uint32_t begin = known_singles_ - 3 * period;
    bool repeats = true;
    bool differs = false;
    for (uint32_t i = begin; repeats && i < known_singles_; ++i) {
      if (i >= begin + period) repeats = singles_[i] == singles_[i - period];
      differs = differs || !(singles_[i] == singles_[begin]);
    }
    if (repeats && differs) return period;
  }
  return 0;
}

}  // namespace instr
