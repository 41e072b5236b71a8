// The worker's allocator: it replaces malloc and its relatives in the whole program, so that the
// cost of a snippet's allocations depends on the snippet alone, never on the heap's history.
//
// Every block is 64-byte aligned, of a size class, and has a number in its class; the free block
// with the lowest number is used next, and if none is free, one is taken from the top of the
// arena. So a block's address follows from which blocks are live, not from the order in which
// others were freed: an iteration that leaves nothing behind gets the same addresses as the one
// before, and code whose path depends on addresses (hash tables of pointers) costs the same each
// time. Memory is never returned to the system. All start-up uses one arena; open_fresh_arena()
// begins another one at a fixed address for everything after it, and from then on freeing blocks of
// the first does nothing, so that no earlier event can affect it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace instr {

// Plain sums over all threads since the arena was opened. Bytes are those requested.
struct ArenaCounters {
  std::uint64_t allocs = 0;
  std::uint64_t alloc_bytes = 0;
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  // highest live_bytes since the last reset_arena_peak()
};

// From here on all blocks come from unused memory at a fixed address, at most `limit` bytes of it
// (0: no limit), and counters start at zero. Sets *exhausted to 1 once a request is refused for
// lack of memory; it may be null. Once in a process; false if the memory could not be mapped there,
// or when called again.
bool open_fresh_arena(std::uint64_t limit, std::uint32_t* exhausted);

// Opens a fresh arena and closes it again, so that later forks have the code warm.
void rehearse_fresh_arena();

ArenaCounters arena_counters();
void reset_arena_peak();

// The memory that the start-up arena has taken blocks from so far, piece by piece.
void visit_start_arena(void (*visit)(std::uintptr_t begin, std::uintptr_t end));

// How many blocks of a class have been made so far, the live and the free, and of what size.
struct BlocksMade {
  std::uint64_t count;
  std::size_t bytes;
};
BlocksMade blocks_made(unsigned size_class);

// The maximum size of a fresh arena.
inline constexpr std::uint64_t kFreshArenaSize = std::uint64_t{32} << 30;

}  // namespace instr
