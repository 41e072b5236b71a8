#include "worker/counted/evidence.h"

#include <algorithm>

#include "worker/wire.h"

namespace instr {
namespace {

constexpr int64_t kMaxEntryAllocs = 8;  // for entering a block
constexpr int64_t kMaxEntryBytes = 1024;
constexpr uint32_t kEnoughEqual = 4;

// True if a cost of two blocks of different lengths is an entry of at most `max_entry` and the same
// whole number for each iteration.
bool grows_evenly(const Block& one, const Block& other, uint64_t Cost::*part, int64_t max_entry) {
  const auto length = [](const Block& block) { return static_cast<int64_t>(block.iterations); };
  const auto cost = [part](const Block& block) { return static_cast<int64_t>(block.cost().*part); };
  const int64_t more = length(other) - length(one);
  if ((cost(other) - cost(one)) % more != 0) return false;
  const int64_t entry = cost(one) - (cost(other) - cost(one)) / more * length(one);
  return entry >= 0 && entry <= max_entry;
}

uint64_t distance(const BlockTotals& one, const BlockTotals& other) {
  const auto [less, more] = std::minmax({one.events.ir(), other.events.ir()});
  return more - less;
}

bool allocate_on_line(const Block& one, const Block& other) {
  return grows_evenly(one, other, &Cost::allocs, kMaxEntryAllocs) &&
         grows_evenly(one, other, &Cost::alloc_bytes, kMaxEntryBytes);
}

}  // namespace

bool Evidence::are_on_line(const Block& one, const Block& other) const {
  return allocate_on_line(one, other) && grows_evenly(one, other, &Cost::ir, entry_.max_ir);
}

void Evidence::add(const Block& block) {
  const Cost cost = block.cost();
  for (uint64_t number : {block.iterations, cost.ir, cost.allocs, cost.alloc_bytes}) {
    trace_ = (trace_ ^ number) * 1099511628211U;
  }
  has_system_calls_ = has_system_calls_ || block.system_calls != 0;
  for (int i = 0; i < known_lengths_; ++i) {
    if (lengths_[i].iterations != block.iterations) continue;
    has_unequal_ = has_unequal_ || !(lengths_[i].cost() == cost);
    return;
  }
  if (known_lengths_ < kMaxLengths) lengths_[known_lengths_++] = block;
}

void Evidence::add_counted(const Block& block) {
  add(block);
  if (blocks_ == kMaxBlocks) return;
  counted_[blocks_++] = block;
  if (blocks_ < 2) return;
  const Block& before = counted_[blocks_ - 2];
  const bool allocates_alike = before.totals.allocs == block.totals.allocs &&
                               before.totals.alloc_bytes == block.totals.alloc_bytes;
  allocates_unlike_ = allocates_unlike_ || !allocates_alike;
  grows_ = before.growth > 0 && block.growth > 0;
}

bool Evidence::add_off_line(const Block& longer) {
  add(longer);
  const Block& last = counted_[blocks_ - 1];
  allocates_unlike_ = allocates_unlike_ || !allocate_on_line(last, longer);
  return !are_on_line(last, longer);
}

void Evidence::add_doubled(const Block& block) { differs_doubled_ = add_off_line(block); }

void Evidence::add_long(const Block& block) { differs_long_ = add_off_line(block); }

void Evidence::add_single(const Block& block) {
  add(block);
  if (known_singles_ < kMaxSingles) singles_[known_singles_++] = block.cost();
}

uint64_t Evidence::cost_of_singles() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < known_singles_; ++i) sum += singles_[i].ir;
  return sum;
}

void Evidence::restart() {
  blocks_ = 0;
  differs_doubled_ = false;
  differs_long_ = false;
}

const BlockTotals& Evidence::farthest() const {
  const auto is_nearer = [this](const Block& one, const Block& other) {
    return distance(one.totals, last()) < distance(other.totals, last());
  };
  return std::max_element(counted_, counted_ + blocks_, is_nearer)->totals;
}

bool Evidence::is_uneven() const {
  const Block* first = nullptr;
  for (int i = 0; i < known_lengths_; ++i) {
    const Block& block = lengths_[i];
    if (block.iterations == 1 && !entry_.is_same_for_one) continue;
    if (first == nullptr) first = &block;
    if (first != &block && !are_on_line(*first, block)) return true;
  }
  return has_unequal_;
}

bool Evidence::holds_whole_periods() const {
  for (uint32_t i = 0; i < blocks_; ++i) {
    if (!(counted_[i].totals == last())) return false;
  }
  return !differs_doubled_;
}

bool Evidence::is_nearly_even() const {
  return blocks_ >= kEnoughEqual &&
         distance(farthest(), last()) <= last().events.ir() / wire::kCollisions;
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
