#include "worker/counted/arena.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "worker/counted/map_at.h"
#include "worker/counted/snippet_stack.h"

namespace instr {
namespace {

// The sizes of blocks. Like all that follows without external linkage: calls of external functions
// take an instruction more in a shared object.

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHeaderSpace = kAlignment;
constexpr unsigned kSmallClasses = 16;  // multiples of 64 up to 1024, then four steps to a doubling
constexpr unsigned kClasses = kSmallClasses + 4 * 32 + 2;

struct SizeClass {
  unsigned index;
  std::size_t bytes;
};

// Returns the smallest class that holds `size` bytes.
inline SizeClass class_of(std::size_t size) {
  std::size_t last = size - (size != 0);  // 0 is served as 1
  if (last < kSmallClasses * kAlignment) {
    unsigned index = static_cast<unsigned>(last / kAlignment);
    return {index, (index + 1) * kAlignment};
  }
  unsigned power = static_cast<unsigned>(std::bit_width(last)) - 1;  // 10 or more
  unsigned step = power - 2;
  unsigned index = kSmallClasses + (power - 10) * 4 + ((last >> step) & 3);
  return {index, ((last >> step) + 1) << step};
}

constexpr std::size_t bytes_of(unsigned index) {
  if (index < kSmallClasses) return (index + 1) * kAlignment;
  unsigned power = 10 + (index - kSmallClasses) / 4;
  std::size_t steps = 4 + (index - kSmallClasses) % 4 + 1;  // quarters of the power of two
  return steps << (power - 2);
}

// The blocks of one size class: which are free, and where they are.

constexpr std::uint32_t kBlocksInWord = 64;

// A word of bits says which of the first 64 blocks are free, enough for most snippets; a tree of
// bits, with 64 branches per node, says it of the others.
struct Pool {
  std::uint64_t first_free;
  std::uint64_t free_0;
  std::uint64_t free_1[64];
  std::uint64_t made;     // blocks so far
  std::uint64_t* free_2;  // 64 x 64 words
  std::uint64_t* free_3;  // a bit for each block
  std::uintptr_t* blocks;
  std::uint64_t max;
};
constexpr std::uint64_t kMaxBlocksInPool = 1 << 24;

// The offsets of a pool's tables, in words from the tables' base.
struct TableLayout {
  std::uint64_t free_2[kClasses];
  std::uint64_t free_3[kClasses];
  std::uint64_t blocks[kClasses];
  std::uint64_t max[kClasses];
  std::uint64_t words;
};

constexpr TableLayout layout_for(std::uint64_t arena_size) {
  TableLayout layout{};
  for (unsigned i = 0; i < kClasses; ++i) {
    std::uint64_t fitting = arena_size / (bytes_of(i) + kHeaderSpace) + 1;
    std::uint64_t max = fitting < kMaxBlocksInPool ? fitting : kMaxBlocksInPool;
    layout.max[i] = max;
    layout.free_2[i] = layout.words;
    layout.free_3[i] = layout.free_2[i] + max / 4096 + 1;
    layout.blocks[i] = layout.free_3[i] + max / 64 + 1;
    layout.words = (layout.blocks[i] + max + 511) & ~std::uint64_t{511};
  }
  return layout;
}

constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

// Takes the free block with the lowest number beyond the first 64. Words that become full cause no
// branch, so that the cost does not depend on which other blocks are free.
[[gnu::noinline]] std::uint32_t take_from_tree(Pool& pool) {
  if (pool.free_0 == 0) return kNoSlot;
  auto i1 = static_cast<unsigned>(std::countr_zero(pool.free_0));
  unsigned i2 = i1 * 64 + static_cast<unsigned>(std::countr_zero(pool.free_1[i1]));
  unsigned i3 = i2 * 64 + static_cast<unsigned>(std::countr_zero(pool.free_2[i2]));
  std::uint64_t word = pool.free_3[i3];
  std::uint32_t slot = i3 * 64 + static_cast<unsigned>(std::countr_zero(word));
  word &= word - 1;
  pool.free_3[i3] = word;
  const auto bit_if = [](bool is_full, unsigned bit) {
    return std::uint64_t{is_full} << (bit & 63);
  };
  std::uint64_t above = pool.free_2[i2] &= ~bit_if(word == 0, i3);
  above = pool.free_1[i1] &= ~bit_if(above == 0, i2);
  pool.free_0 &= ~bit_if(above == 0, i1);
  return slot;
}

inline std::uint32_t take_slot(Pool& pool) {
  std::uint64_t word = pool.first_free;
  if (word == 0) return take_from_tree(pool);
  pool.first_free = word & (word - 1);
  return static_cast<std::uint32_t>(std::countr_zero(word));
}

[[gnu::noinline]] void give_to_tree(Pool& pool, std::uint32_t slot) {
  pool.free_3[slot >> 6] |= std::uint64_t{1} << (slot & 63);
  pool.free_2[slot >> 12] |= std::uint64_t{1} << (slot >> 6 & 63);
  pool.free_1[slot >> 18] |= std::uint64_t{1} << (slot >> 12 & 63);
  pool.free_0 |= std::uint64_t{1} << (slot >> 18);
}

inline void give_slot(Pool& pool, std::uint32_t slot) {
  if (slot >= kBlocksInWord) return give_to_tree(pool, slot);
  pool.first_free |= std::uint64_t{1} << slot;
}

// Above what Valgrind maps for the program and below its own memory (64 GiB).
constexpr std::uintptr_t kStartBase = 0x2'0000'0000;
constexpr std::uint64_t kStartSize = std::uint64_t{8} << 30;
constexpr std::uintptr_t kFreshBase = 0x6'0000'0000;

// The number of a block at an offered place: it is used next, since all others are higher if the
// first 64 blocks are never free.
constexpr std::uint32_t kOffered = kBlocksInWord;
// The pool to which such blocks are returned, and from which none is taken.
constexpr unsigned kPoolOfOffered = kClasses;

constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 40;
constexpr std::uint32_t kMagic = 0x1A7B10C5;

// Directly below the payload.
struct Header {
  std::uint64_t size;  // the requested size
  std::uint32_t slot;
  std::uint32_t size_class;
  std::uint64_t magic;
};
static_assert(sizeof(Header) <= kHeaderSpace);

struct Region {
  std::uintptr_t base;
  std::uint64_t size;  // bytes of the blocks, which are above the tables
  const TableLayout* layout;

  constexpr std::uintptr_t blocks() const { return base + layout->words * sizeof(std::uint64_t); }
  constexpr std::uint64_t mapped() const { return blocks() + kPlacesSize + size - base; }
};

constexpr TableLayout kStartLayout = layout_for(kStartSize);
constexpr TableLayout kFreshLayout = layout_for(kFreshArenaSize);
constexpr Region kStart{kStartBase, kStartSize, &kStartLayout};
constexpr Region kFresh{kFreshBase, kFreshArenaSize, &kFreshLayout};
static_assert(kFreshBase + kFresh.mapped() < 0x10'0000'0000);
static_assert(kStartBase + kStart.mapped() < snippet_stack::kBase);

// A stretch of the start-up arena. Each class has its own, and one for all takes the blocks that do
// not fit there. Otherwise a temporary block of another size, for a longer path for instance, would
// move all later blocks.
struct Stretch {
  std::uintptr_t begin;
  std::uintptr_t top;  // the next new block
  std::uintptr_t end;
};
constexpr std::uint64_t kStretchOfSmall = std::uint64_t{160} << 20;
constexpr std::uint64_t kStretchOfLarge = std::uint64_t{12} << 20;
constexpr unsigned kForAll = kClasses;
static_assert(kSmallClasses * kStretchOfSmall + (kClasses - kSmallClasses) * kStretchOfLarge <
              kStartSize / 8 * 5);

// An uncontended lock always takes the same few instructions; a contended one yields, since
// Valgrind runs one thread at a time, and spinning would keep the holder from proceeding.
class Lock {
 public:
  void lock() {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  void unlock() { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<int> taken_{0};
};

struct Arena {
  Lock lock;
  bool ready = false;
  bool fresh = false;
  bool has_places = false;
  std::uint32_t* exhausted = nullptr;  // set to 1 when memory runs out
  std::uintptr_t base = 0;             // freeing blocks outside the arena does nothing
  std::uintptr_t top = 0;
  std::uintptr_t end = 0;
  ArenaCounters counters;
  Pool pools[kClasses + 1] = {};
  Stretch stretches[kClasses + 1] = {};  // set in the start-up arena

  // Takes all but the stretches, which only the start-up arena has.
  void take_memory(const Arena& other) {
    base = other.base;
    top = other.top;
    end = other.end;
    counters = other.counters;
    memcpy(pools, other.pools, sizeof pools);
  }
};

// Needs no constructor, since ld.so calls malloc before any has run.
constinit Arena arena;

bool map_region(const Region& region) { return map_at(region.base, region.mapped()); }

void use_region(const Region& region, std::uint64_t limit, FirstBlocks first_blocks) {
  arena.base = region.blocks();
  arena.has_places = first_blocks == FirstBlocks::kAlike;
  arena.top = arena.base + (arena.has_places ? kPlacesSize : 0);
  arena.end = arena.top + limit;
  arena.counters = ArenaCounters{};
  auto* tables = reinterpret_cast<std::uint64_t*>(region.base);
  memset(arena.pools, 0, sizeof arena.pools);
  for (unsigned i = 0; i < kClasses; ++i) {
    Pool& pool = arena.pools[i];
    pool.free_2 = tables + region.layout->free_2[i];
    pool.free_3 = tables + region.layout->free_3[i];
    pool.blocks = tables + region.layout->blocks[i];
    pool.max = region.layout->max[i];
    const bool has_others = pool.max > 2 * kBlocksInWord;  // false for huge blocks
    // The numbers of the first blocks are never free, and kOffered only while a place is offered.
    if (first_blocks == FirstBlocks::kAlike && has_others) pool.made = kOffered + 1;
  }
  static std::uint64_t unused[2][2];
  arena.pools[kPoolOfOffered].free_2 = unused[0];
  arena.pools[kPoolOfOffered].free_3 = unused[1];
}

void take_lock() { arena.lock.lock(); }
void give_lock() { arena.lock.unlock(); }

// Divides the whole start-up arena into stretches.
void divide_into_stretches() {
  const auto stretch = [](std::uint64_t size) {
    const std::uintptr_t begin = std::exchange(arena.top, arena.top + size);
    return Stretch{begin, begin, arena.top};
  };
  for (unsigned i = 0; i < kClasses; ++i) {
    arena.stretches[i] = stretch(i < kSmallClasses ? kStretchOfSmall : kStretchOfLarge);
  }
  arena.stretches[kForAll] = stretch(arena.end - arena.top);
}

[[gnu::noinline, gnu::cold]] void start() {
  arena.ready = true;
  if (!map_region(kStart)) abort();
  use_region(kStart, kStart.size, FirstBlocks::kCheaper);
  divide_into_stretches();
}

// A child of fork() must not inherit a lock that another thread held.
[[gnu::constructor]] void guard_forks() { pthread_atfork(take_lock, give_lock, give_lock); }

// Makes a free block in the class's stretch, or in the one for all.
bool make_in_stretch(unsigned index) {
  Pool& pool = arena.pools[index];
  const std::size_t bytes = bytes_of(index) + kHeaderSpace;
  const auto has_room = [bytes](const Stretch& place) { return bytes <= place.end - place.top; };
  Stretch& own = arena.stretches[index];
  Stretch& stretch = has_room(own) ? own : arena.stretches[kForAll];
  if (arena.fresh || !has_room(stretch) || pool.made == pool.max) return false;
  pool.blocks[pool.made] = stretch.top;
  stretch.top += bytes;
  give_slot(pool, static_cast<std::uint32_t>(pool.made++));
  return true;
}

// Called if there is no room at the top. Stretches are used only here, outside the counted code.
[[gnu::noinline, gnu::cold]] void* allocate_in_stretch(std::size_t size, std::size_t alignment,
                                                       unsigned index) {
  const bool is_made = make_in_stretch(index);
  if (!is_made && arena.exhausted != nullptr) *arena.exhausted = 1;
  arena.lock.unlock();
  if (is_made) return memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}

inline void count_in(std::size_t size) {
  ArenaCounters& counters = arena.counters;
  counters.allocs += 1;
  counters.alloc_bytes += size;
  counters.live_bytes += static_cast<std::int64_t>(size);
  std::int64_t live = counters.live_bytes;
  std::int64_t peak = counters.peak_bytes;
  counters.peak_bytes = live > peak ? live : peak;
}

// Returns a payload of `size` bytes, aligned to `alignment` (a power of two, at least 64). Always
// inline, so that profiles show its cost under the name that users know: malloc.
[[gnu::always_inline]] inline void* allocate(std::size_t size, std::size_t alignment) {
  if (!arena.ready) start();
  std::size_t slack = alignment - kAlignment;
  std::size_t wanted = size + slack;
  if (size > kMaxRequestBytes || alignment > kMaxRequestBytes) wanted = kMaxRequestBytes;
  SizeClass size_class = class_of(wanted);
  arena.lock.lock();
  Pool& pool = arena.pools[size_class.index];
  std::uint32_t slot = take_slot(pool);
  if (slot == kNoSlot) {
    slot = static_cast<std::uint32_t>(pool.made);
    std::size_t bytes = size_class.bytes + kHeaderSpace;
    if (bytes > arena.end - arena.top || pool.made == pool.max) {
      return allocate_in_stretch(size, alignment, size_class.index);
    }
    pool.made += 1;
    pool.blocks[slot] = arena.top;
    arena.top += bytes;
  }
  std::uintptr_t block = pool.blocks[slot];
  count_in(size);
  arena.lock.unlock();
  std::uintptr_t payload = (block + kHeaderSpace + slack) & ~(std::uintptr_t{alignment} - 1);
  Header* header = reinterpret_cast<Header*>(payload) - 1;
  header->size = size;
  header->slot = slot;
  header->size_class = size_class.index;
  header->magic = kMagic;
  return reinterpret_cast<void*>(payload);
}

inline bool is_ours(const void* payload) {
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(payload);
  return at - arena.base < arena.end - arena.base;
}

inline Header* header_of(void* payload) { return static_cast<Header*>(payload) - 1; }

// Does nothing for null and for blocks of the other arena.
inline void release(void* payload) {
  if (!is_ours(payload)) return;
  Header* header = header_of(payload);
  if (header->magic != kMagic) abort();  // freed twice, or never allocated
  header->magic = 0;
  arena.lock.lock();
  arena.counters.live_bytes -= static_cast<std::int64_t>(header->size);
  give_slot(arena.pools[header->size_class], header->slot);
  arena.lock.unlock();
}

bool was_allocated(void* payload) {
  std::uintptr_t at = reinterpret_cast<std::uintptr_t>(payload);
  bool at_start = at - kStart.blocks() < kStart.size;
  return (at_start || is_ours(payload)) && header_of(payload)->magic == kMagic;
}

}  // namespace

void rehearse_fresh_arena() {
  static Arena kept;  // large, and must not be allocated from the allocator that it replaces
  kept.take_memory(arena);
  if (open_fresh_arena(0, nullptr)) munmap(reinterpret_cast<void*>(kFresh.base), kFresh.mapped());
  arena.take_memory(kept);
  arena.fresh = false;
}

bool open_fresh_arena(std::uint64_t limit, std::uint32_t* exhausted, FirstBlocks first_blocks) {
  if (arena.fresh) return false;
  std::uint64_t size = limit == 0 || limit > kFreshArenaSize ? kFreshArenaSize : limit;
  if (!map_region(kFresh)) return false;
  arena.lock.lock();
  arena.ready = true;
  arena.fresh = true;
  use_region(kFresh, size, first_blocks);
  arena.exhausted = exhausted;
  arena.lock.unlock();
  return true;
}

void* places() { return arena.has_places ? reinterpret_cast<void*>(arena.base) : nullptr; }

void offer_place(std::size_t size, void* payload) {
  arena.lock.lock();
  Pool& pool = arena.pools[class_of(size).index];
  pool.blocks[kOffered] = reinterpret_cast<std::uintptr_t>(payload) - kHeaderSpace;
  give_slot(pool, kOffered);
  arena.lock.unlock();
}

void withdraw_place(std::size_t size, void* payload) {
  arena.lock.lock();
  Pool& pool = arena.pools[class_of(size).index];
  const bool is_unused = (pool.free_3[kOffered / kBlocksInWord] & 1) != 0;
  if (is_unused) take_slot(pool);
  if (Header* header = header_of(payload); header->magic == kMagic)
    header->size_class = kPoolOfOffered;
  arena.lock.unlock();
}

ArenaCounters arena_counters() { return arena.counters; }

void reset_arena_peak() { arena.counters.peak_bytes = arena.counters.live_bytes; }

BlocksMade blocks_made(unsigned size_class) {
  return {arena.pools[size_class].made, bytes_of(size_class)};
}

}  // namespace instr

// Replaces the C library's functions, which operator new of every library uses, too.
extern "C" {

void* malloc(std::size_t size) { return instr::allocate(size, instr::kAlignment); }

void free(void* payload) { instr::release(payload); }

void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* payload = instr::allocate(bytes, instr::kAlignment);
  // Also for new blocks, which are zero already: the cost must not depend on earlier use.
  if (payload != nullptr) memset(payload, 0, bytes);
  return payload;
}

void* realloc(void* old, std::size_t size) {
  if (old == nullptr) return malloc(size);
  if (size == 0) {
    free(old);
    return nullptr;
  }
  if (!instr::was_allocated(old)) abort();
  void* payload = malloc(size);
  if (payload == nullptr) return nullptr;
  std::size_t old_size = instr::header_of(old)->size;
  memcpy(payload, old, old_size < size ? old_size : size);
  free(old);
  return payload;
}

void* reallocarray(void* old, std::size_t count, std::size_t size) {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, bytes);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (!std::has_single_bit(alignment) || alignment < sizeof(void*)) return EINVAL;
  int saved = errno;  // errors are reported only by the result
  void* payload =
      instr::allocate(size, alignment < instr::kAlignment ? instr::kAlignment : alignment);
  errno = saved;
  if (payload == nullptr) return ENOMEM;
  *out = payload;
  return 0;
}

void* memalign(std::size_t alignment, std::size_t size) {
  // At most an alignment that is refused: the next power of two may not be representable.
  std::size_t power =
      alignment > instr::kMaxRequestBytes ? 2 * instr::kMaxRequestBytes : std::bit_ceil(alignment);
  return instr::allocate(size, power < instr::kAlignment ? instr::kAlignment : power);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

void* valloc(std::size_t size) { return memalign(4096, size); }

void* pvalloc(std::size_t size) {
  // Rounded up to whole pages, unless that overflows.
  if (size <= instr::kMaxRequestBytes) size = (size + 4095) & ~std::size_t{4095};
  return memalign(4096, size);
}

std::size_t malloc_usable_size(void* payload) {
  return payload == nullptr || !instr::was_allocated(payload) ? 0 : instr::header_of(payload)->size;
}

int malloc_trim(std::size_t) { return 0; }
}
