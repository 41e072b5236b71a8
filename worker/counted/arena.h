// The worker's allocator: it replaces malloc and its relatives in the whole program, so that the
// cost of a snippet's allocations depends on the snippet alone, never on the heap's history.
//
// Every block is 64-byte aligned, of a size class, and has a number in its class; the free block
// with the lowest number is used next, and if none is free, a new block is taken from the top of
// the arena. So a block's address follows from which blocks are live, not from the order in which
// others were freed: an iteration that leaves nothing behind gets the same addresses as the
// previous one, and code whose path depends on addresses (hash tables of pointers) costs the same
// each time. Memory is never returned to the system. All start-up uses one arena;
// open_fresh_arena() begins another at a fixed address for all later blocks. Freeing a block of the
// first then does nothing, so that no earlier event can affect a count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace instr {

// Sums over all threads since the arena was opened. Bytes are as requested.
struct ArenaCounters {
  std::uint64_t allocs = 0;
  std::uint64_t alloc_bytes = 0;
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  // highest live_bytes since the last reset_arena_peak()
};

// Returns the peak above the start of an iteration, of a block of these. The memory that an
// iteration leaves behind is there when the next one starts.
inline std::uint64_t max_live_bytes(const ArenaCounters& start, const ArenaCounters& end,
                                    std::uint64_t iterations) {
  const auto n = static_cast<std::int64_t>(iterations);
  const std::int64_t growth = end.live_bytes - start.live_bytes;
  std::int64_t peak = end.peak_bytes - start.live_bytes;
  if (growth > 0) peak -= growth / n * (n - 1);
  return peak > 0 ? static_cast<std::uint64_t>(peak) : 0;
}

// The first 64 blocks of a size are cheaper to allocate, or as expensive as all others. In a
// program with many live blocks it is chance whether one of the first is free.
enum class FirstBlocks { kCheaper, kAlike };

// Takes all later blocks from unused memory at a fixed address, at most `limit` bytes of it (0: no
// limit), and resets the counters. Sets *exhausted, unless null, to 1 once a request is refused for
// lack of memory. False if the memory could not be mapped, or when called again in a process.
bool open_fresh_arena(std::uint64_t limit, std::uint32_t* exhausted,
                      FirstBlocks first_blocks = FirstBlocks::kCheaper);

// In a fresh arena with FirstBlocks::kAlike, memory for blocks at chosen places; else null.
inline constexpr std::uint64_t kPlacesSize = std::uint64_t{512} << 20;
void* places();

// Has the next block of its size class made at `payload`, which has 64 bytes of places() before it,
// at the usual cost. To be withdrawn before another place is offered, whether a block was made or
// not.
void offer_place(std::size_t size, void* payload);
void withdraw_place(std::size_t size, void* payload);

// Opens a fresh arena and closes it again, so that later forks have this code translated.
void rehearse_fresh_arena();

ArenaCounters arena_counters();
void reset_arena_peak();

// The blocks of a size class made so far, both live and free.
struct BlocksMade {
  std::uint64_t count;
  std::size_t bytes;  // the size of each block
};
BlocksMade blocks_made(unsigned size_class);

// The maximum size of a fresh arena.
inline constexpr std::uint64_t kFreshArenaSize = std::uint64_t{32} << 30;

}  // namespace instr
