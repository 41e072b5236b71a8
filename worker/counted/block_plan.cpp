#include "worker/counted/block_plan.h"

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

// No further block is started once this many instructions were counted without becoming steady.
constexpr uint64_t kMaxInstructions = 400'000'000;
// Single iterations at the end of the warm-up that are counted, to check that the cost of a block
// is proportional to its iterations.
constexpr uint64_t kLooks = 3;
// The long block has as many iterations as cost at most this together, or the fewer ones as cost at
// most that. So a cost that comes every Nth iteration is seen up to N = 960 where an iteration
// costs 400 instructions, up to 200 at 10,000, up to 100 at 20,000 (docs/DETERMINISM.md).
constexpr uint64_t kMaxInLongBlock = 400'000;
constexpr uint64_t kFewerInLongBlock = 216;
constexpr uint64_t kMaxInFewer = 2'400'000;
// A statement is slow if a block of it takes this much CPU time, and this much for each of its
// instructions. Under Callgrind these take 0.01 to 0.1 us.
constexpr uint64_t kSlowBlockUs = 50'000;
constexpr uint64_t kSlowInstructionsInUs = 2;
// Additional blocks of statements that make system calls, and single iterations in search of a
// period, are not counted once they have cost more than this.
constexpr uint64_t kMaxExtra = 10'000'000;
constexpr uint32_t kFirstSingles = 24;  // doubled until a period is found
constexpr uint32_t kMaxSinglesOfGrowing = 384;
constexpr int kMaxPeriods = 4;  // found one after the other, since blocks of one lack rarer costs
// A statement that makes system calls, other than to read a clock, is counted again in this many
// processes.
constexpr uint32_t kRepeatsOfCalls = 3;

// If iterations are expensive, the first blocks have 2. If these differ, the cost may repeat every
// third iteration: 6 hold whole periods of either.
constexpr uint64_t kShortBlock = 2;
constexpr uint64_t kLongerBlock = 6;
constexpr uint64_t kMaxFollowed = 6;  // iterations: each call in them reads the counters

constexpr uint64_t kSettlingIterations = torch_side::kSettlingIterations;

// Iterations of a block by the cost of one iteration: a function of the count alone, never of time,
// so that each run of the same code measures alike. Numbers with many divisors: if a snippet keeps
// blocks from one iteration to the next (gradients), addresses repeat every second or third
// iteration, and with them the cost of hash tables of pointers.
uint64_t iterations_for(uint64_t ir) {
  if (ir <= 20'000) return 24;
  if (ir <= 250'000) return 12;
  if (ir <= 1'000'000) return 6;
  if (ir <= 50'000'000) return kShortBlock;
  return 1;
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
  reads_clock_ = reads_clock_ || block.clock_readings != 0;
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

PlannedBlock BlockPlan::next(const Block& ended) {
  is_result_ = false;
  current_ = current_.kind == BlockKind::kReset ? after_reset_ : reset_first(decide(ended));
  current_.ended_is_result = is_result_;
  return current_;
}

// Each iteration leaves garbage, and in CPython the names of attributes that it made, which its
// cache of methods keeps. So addresses, on which collisions in that cache depend, would be others
// in each block. As many iterations follow a reset as are counted, so that what repeats every few
// iterations is at the same point again.
PlannedBlock BlockPlan::reset_first(const PlannedBlock& wanted) {
  const BlockKind kind = wanted.kind;
  const bool is_long = kind == BlockKind::kCounted || kind == BlockKind::kDoubled ||
                       kind == BlockKind::kLong || kind == BlockKind::kFollowed;
  if (!is_long || !options_.resets || options_.is_once) return wanted;
  after_reset_ = wanted;
  after_reset_.settling_left = {};
  return {BlockKind::kReset, block_length_, false, wanted.settling_left};
}

PlannedBlock BlockPlan::decide(const Block& ended) {
  switch (current_.kind) {
    case BlockKind::kNotStarted:
      if (options_.is_once) return count_once();
      warmup_ = 1;
      return {BlockKind::kFirst, 1};
    case BlockKind::kFirst:
      if (options_.is_once) return count_once();
      if (options_.warmup.value_or(UINT64_MAX) <= 2 + kSettlingIterations)
        return probe_or_warm_up();
      // The iteration after the first runs the same code as all later ones.
      return {BlockKind::kNoting, 1};
    case BlockKind::kNoting:
      is_code_noted_ = true;
      warmup_ += 1;
      return probe_or_warm_up();
    case BlockKind::kProbe: return after_probe(ended);
    case BlockKind::kSettling:
      if (current_.is_collected) evidence_.add(ended);
      return settle_or_count();
    case BlockKind::kWarmUp: return settle_or_count();
    case BlockKind::kCounted:
      add_counted(ended);
      return options_.is_once ? follow_or_finish() : after_counted(ended);
    case BlockKind::kDoubled:
      evidence_.add_doubled(ended);
      return has_enough_blocks() ? look_longer() : begin_counting();
    case BlockKind::kLong: return after_long(ended);
    case BlockKind::kSingle: return after_single(ended);
    case BlockKind::kReset:
    case BlockKind::kFollowed:
    case BlockKind::kDone: break;
  }
  return {BlockKind::kDone};
}

// Each iteration of the warm-up is a block of its own, so that all begin alike.
PlannedBlock BlockPlan::count_once() {
  block_length_ = 1;
  if (warmup_ < options_.warmup.value_or(0)) {
    warmup_ += 1;
    return {BlockKind::kFirst, 1};
  }
  return options_.only_follow ? follow_or_finish() : begin_counting();
}

PlannedBlock BlockPlan::probe_or_warm_up() {
  block_length_ = options_.iterations;
  if (block_length_ != 0) return warm_up_or_count();
  return {BlockKind::kProbe, 1, true};
}

PlannedBlock BlockPlan::after_probe(const Block& probe) {
  block_length_ = iterations_for(probe.totals.events.ir());
  if (block_length_ == 1 && options_.warmup <= 1) {  // an absent warm-up is below 1
    add_counted(probe);
    return begin_counting();
  }
  warmup_ += 1;
  return warm_up_or_count();
}

// The rest of the warm-up, then the blocks.
PlannedBlock BlockPlan::warm_up_or_count() {
  const uint64_t wanted = options_.warmup ? *options_.warmup : options_.warm_up_for(block_length_);
  if (warmup_ >= wanted) return begin_counting();
  const uint64_t rest = wanted - warmup_;
  warmup_ = wanted;
  settling_ = std::min(rest, is_code_noted_ ? kSettlingIterations : kLooks);
  if (block_length_ == 1 && !is_code_noted_) settling_ = 0;
  if (rest == settling_) return settle_or_count();
  return {BlockKind::kWarmUp, rest - settling_};
}

// Single iterations at the end of the warm-up, of which the last ones are counted. If the
// interpreter's code was noted, it settles in them.
PlannedBlock BlockPlan::settle_or_count() {
  const uint64_t left = settling_;
  PlannedBlock block =
      left == 0 ? begin_counting() : PlannedBlock{BlockKind::kSettling, 1, left <= kLooks};
  if (left != 0) settling_ -= 1;
  if (is_code_noted_) block.settling_left = left;
  return block;
}

PlannedBlock BlockPlan::begin_counting() const {
  return {BlockKind::kCounted, block_length_, true};
}

void BlockPlan::add_counted(const Block& block) {
  evidence_.add_counted(block);
  counted_ += block.totals.events.ir();
  is_result_ = true;
}

// Two equal blocks are enough unless something is in doubt. Memory may stop growing: an
// interpreter's lists of free objects do.
bool BlockPlan::has_enough_blocks() const {
  if (evidence_.blocks() < 2) return false;
  if (evidence_.blocks() >= kMaxBlocks || counted_ > kMaxInstructions) return true;
  if (!options_.is_judged) return evidence_.has_equal_pair();
  const bool is_affordable = counted_ <= kMaxExtra && !is_slow_;
  if (evidence_.grows() && is_affordable) return false;
  if (!evidence_.holds_whole_periods()) return evidence_.has_majority() || is_nearly_even();
  return evidence_.has_equal_pair() && !(evidence_.has_system_calls() && is_affordable);
}

PlannedBlock BlockPlan::after_counted(const Block& block) {
  if (!is_slow_ && evidence_.blocks() == 1) {
    is_slow_ = options_.is_slow.value_or(seems_slow(block));
    if (is_slow_) return restart_with(std::min(block_length_, kShortBlock));
  }
  if (!has_enough_blocks()) {
    return should_lengthen() ? restart_with(kLongerBlock) : begin_counting();
  }
  if (!evidence_.has_equal_pair() || (block_length_ == 1 && !options_.is_simulated)) {
    return search_or_finish();
  }
  // In a long loop an interpreter makes objects.
  if (options_.resets && 2 * block_length_ > options_.max_block) return look_longer();
  // Its additional events come from iterations alone: the cost of entering a block is in both.
  return {BlockKind::kDoubled, 2 * block_length_, true};
}

// True for a statement whose time goes into system calls, which cost no instructions.
bool BlockPlan::seems_slow(const Block& block) const {
  return options_.iterations == 0 && block.system_calls != 0 && block.cpu_us > kSlowBlockUs &&
         block.cpu_us > block.cost().ir / kSlowInstructionsInUs;
}

// True after two short blocks that differed, if two longer ones are affordable.
bool BlockPlan::should_lengthen() const {
  const bool is_first_pair = block_length_ == kShortBlock && evidence_.blocks() == 2;
  if (options_.iterations != 0 || !is_first_pair || is_slow_) return false;
  const uint64_t iteration = counted_ / (2 * kShortBlock);
  return counted_ + kLongerBlock * iteration <= kMaxInstructions;
}

PlannedBlock BlockPlan::restart_with(uint64_t length, uint64_t unit) {
  block_length_ = length;
  has_looked_longer_ = false;
  evidence_.restart(unit);
  return begin_counting();
}

// True if blocks of other lengths may be counted, besides those that are the result.
bool BlockPlan::may_look_further() const {
  return options_.iterations == 0 && !options_.is_simulated && options_.is_judged && !is_slow_;
}

PlannedBlock BlockPlan::look_longer() {
  const uint64_t in_block = std::max<uint64_t>(evidence_.last().events.ir(), 1);
  const uint64_t fewer = std::min(kMaxInFewer * block_length_ / in_block, kFewerInLongBlock);
  uint64_t length = std::max(kMaxInLongBlock * block_length_ / in_block, fewer);
  length = std::min(length, options_.max_block);
  length -= length % block_length_;  // whole periods
  if (!may_look_further() || has_looked_longer_ || length <= 2 * block_length_) {
    return search_or_finish();
  }
  has_looked_longer_ = true;
  return {BlockKind::kLong, length, true};
}

// Counts once more after rare costs: if something has happened once, such as a table that is made
// late, blocks that begin now no longer contain it. If it comes again, searches for its period.
PlannedBlock BlockPlan::after_long(const Block& block) {
  evidence_.add_long(block);
  if (!evidence_.has_certain_rare_costs() || has_counted_again_) return search_or_finish();
  has_counted_again_ = true;
  return restart_with(block_length_, evidence_.unit());
}

// The number of single iterations with which a period is searched for next.
uint32_t BlockPlan::next_singles() const {
  return std::max(kFirstSingles, 2 * evidence_.singles());
}

// The period of single iterations; 0 if none is known, or if blocks that were known to hold it lack
// costs that are rarer still. What seems to be a rare cost may be the fraction of an instruction
// that an iteration costs on average.
uint64_t BlockPlan::useful_period() const {
  const uint64_t period = evidence_.period();
  const bool is_known = period != 0 && evidence_.unit() % period == 0;
  return is_known && evidence_.has_rare_costs() ? 0 : period;
}

// A period is searched for unless one is known, or blocks seem to hold whole periods.
bool BlockPlan::may_search() const {
  const bool seems_even = evidence_.holds_whole_periods() || is_nearly_even();
  const bool is_needed = !seems_even || evidence_.has_rare_costs();
  if (!may_look_further() || !is_needed || useful_period() != 0) return false;
  if (next_singles() > (evidence_.grows() ? kMaxSinglesOfGrowing : kMaxSingles)) return false;
  const uint64_t more = next_singles() - evidence_.singles();
  const uint64_t iteration = evidence_.last().events.ir() / block_length_;
  return evidence_.cost_of_singles() + more * iteration <= kMaxExtra;
}

// The counted blocks have ended, equal or not.
PlannedBlock BlockPlan::search_or_finish() {
  // Only iterations that directly follow each other show a period.
  if (current_.kind != BlockKind::kSingle) evidence_.forget_singles();
  if (!may_search()) return follow_or_finish();
  singles_wanted_ = next_singles();
  return {BlockKind::kSingle, 1, true};
}

PlannedBlock BlockPlan::after_single(const Block& block) {
  evidence_.add_single(block);
  if (evidence_.singles() < singles_wanted_) return {BlockKind::kSingle, 1, true};
  const uint64_t period = useful_period();
  if (period == 0) return search_or_finish();
  const bool is_held = block_length_ % period == 0;
  const bool is_known = (is_held && !evidence_.has_rare_costs()) || found_periods_ == kMaxPeriods;
  const bool is_too_long = options_.resets && period > options_.max_block;
  if (is_known || is_too_long) return follow_or_finish();
  found_periods_ += 1;
  return restart_with(is_held ? block_length_ : period, period);
}

PlannedBlock BlockPlan::follow_or_finish() const {
  if (!options_.follow_calls) return {BlockKind::kDone};
  return {BlockKind::kFollowed, std::min(block_length_, kMaxFollowed), true};
}

// True if the counted blocks are like those before and after: what grows has a mark of its own.
bool BlockPlan::lacks_rare_costs() const {
  return !options_.is_judged || !evidence_.has_certain_rare_costs() || evidence_.grows();
}

Judgement BlockPlan::judge() const {
  if (options_.is_once) return {.is_steady = true, .repeats = 1};
  const bool has_calls = options_.is_judged && evidence_.has_system_calls();
  const bool reads_clock = options_.is_judged && evidence_.reads_clock();
  const bool is_certain = !options_.is_judged || evidence_.holds_whole_periods() ||
                          (!has_calls && !reads_clock && evidence_.has_majority());
  Judgement judgement;
  // Blocks are uneven, so other processes must count the same.
  const bool is_reproducible = options_.is_judged && is_nearly_even();
  judgement.is_steady =
      ((evidence_.has_equal_pair() && is_certain) || is_reproducible) && lacks_rare_costs();
  if (has_calls) {
    judgement.repeats = kRepeatsOfCalls;
  } else if (reads_clock || (options_.is_judged && evidence_.is_uneven())) {
    judgement.repeats = 1;
  }
  return judgement;
}

}  // namespace instr
