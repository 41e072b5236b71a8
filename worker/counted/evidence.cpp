#include "worker/counted/evidence.h"

#include <algorithm>
#include <cmath>

#include "worker/wire.h"

namespace instr {
namespace {

constexpr int64_t kMaxEntryAllocs = 8;  // allocations for entering a block
constexpr int64_t kMaxEntryBytes = 1024;
constexpr uint32_t kEnoughEqual = 4;
// Collisions may add one in so many instructions to a block that is longer than those counted: new
// texts for names have gone on to addresses that the others had not reached.
constexpr int kCollisionsInLong = 50;

// True if a cost of two blocks of different lengths is an entry of at most `max_entry` and the same
// whole number for each `unit` iterations.
bool grows_evenly(const Block& one, const Block& other, uint64_t Cost::*part, int64_t max_entry,
                  uint64_t unit) {
  if (one.iterations % unit != 0 || other.iterations % unit != 0) return false;
  const auto length = [unit](const Block& block) {
    return static_cast<int64_t>(block.iterations / unit);
  };
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

}  // namespace

bool Evidence::allocate_on_line(const Block& one, const Block& other) const {
  return grows_evenly(one, other, &Cost::allocs, kMaxEntryAllocs, unit_) &&
         grows_evenly(one, other, &Cost::alloc_bytes, kMaxEntryBytes, unit_);
}

bool Evidence::are_on_line(const Block& one, const Block& other) const {
  return allocate_on_line(one, other) && grows_evenly(one, other, &Cost::ir, entry_.max_ir, unit_);
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

// Returns by which part of its cost a block differs from the line through the last counted and the
// doubled one.
double Evidence::distance_from_line(const Block& longer) const {
  const Block& last = counted_[blocks_ - 1];
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  const Block& other = doubled_.iterations > last.iterations ? doubled_ : Block{};
  const double iteration = (number(other.cost().ir) - number(last.cost().ir)) /
                           (number(other.iterations) - number(last.iterations));
  const double expected =
      number(last.cost().ir) + iteration * number(longer.iterations - last.iterations);
  return std::abs(number(longer.cost().ir) / expected - 1);
}

bool Evidence::add_off_line(const Block& longer) {
  add(longer);
  const Block& last = counted_[blocks_ - 1];
  allocates_unlike_ = allocates_unlike_ || !allocate_on_line(last, longer);
  return !are_on_line(last, longer);
}

void Evidence::add_doubled(const Block& block) {
  differs_doubled_ = add_off_line(block);
  doubled_ = block;
}

void Evidence::add_long(const Block& block) {
  differs_long_ = add_off_line(block);
  grows_long_ = block.growth > 0;
  const Block& last = counted_[blocks_ - 1];
  if (!differs_long_ || !entry_.has_collisions || !allocate_on_line(last, block)) return;
  const double distance = distance_from_line(block);
  differs_long_ = distance * wire::kCollisions > 1;
  may_collide_long_ = distance * kCollisionsInLong <= 1;
}

void Evidence::add_single(const Block& block) {
  add(block);
  if (known_singles_ < kMaxSingles) singles_[known_singles_++] = block.cost();
}

uint64_t Evidence::cost_of_singles() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < known_singles_; ++i) sum += singles_[i].ir;
  return sum;
}

void Evidence::restart(uint64_t unit) {
  unit_ = unit;
  blocks_ = 0;
  doubled_ = {};
  differs_doubled_ = differs_long_ = may_collide_long_ = false;
  allocates_unlike_ = grows_ = grows_long_ = false;
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

bool Evidence::are_alike(const Cost& one, const Cost& other) const {
  if (!entry_.has_collisions) return one == other;
  const auto [less, more] = std::minmax(one.ir, other.ir);
  return one.allocs == other.allocs && one.alloc_bytes == other.alloc_bytes &&
         more - less <= less / wire::kCollisions;
}

uint64_t Evidence::period() const {
  for (uint32_t period = 2; 3 * period <= known_singles_; ++period) {
    // The first ones are left out, since something may settle in them.
    const uint32_t begin = known_singles_ - std::max(3 * period, known_singles_ / 2);
    bool repeats = true;
    bool differs = false;
    for (uint32_t i = begin; repeats && i < known_singles_; ++i) {
      if (i >= begin + period) repeats = are_alike(singles_[i], singles_[i - period]);
      differs = differs || !are_alike(singles_[i], singles_[begin]);
    }
    if (repeats && differs) return period;
  }
  return 0;
}

}  // namespace instr
