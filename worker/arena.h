// The worker's allocator: it takes the place of malloc and its kin in the whole program, so that what
// a snippet's allocations cost depends on the snippet alone, never on the heap's history.
//
// Every block is 64-byte aligned and of a size class; a class's free blocks are a list, last in first
// out; where the list is empty, the block comes from the top of the arena. So each call takes the
// same path for the same size, and memory never goes back to the system. All start-up goes to one
// arena; open_fresh_arena() begins another one at a fixed address for what follows, and blocks of the
// first are from then on freed into nothing, so that nothing that happened earlier can show.
#pragma once

#include <cstddef>
#include <cstdint>

namespace instr {

// Plain sums over all threads since the arena was opened. Bytes are those asked for.
struct ArenaCounters {
  std::uint64_t allocs = 0;
  std::uint64_t alloc_bytes = 0;
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;  // highest live_bytes since the last reset_arena_peak()
};

// From here on all blocks come from memory at a fixed address that no block has used before, at most
// `limit` bytes of it (0: all there is), and counters begin at zero. Once in a process; false where
// the memory could not be mapped there, or when called again.
bool open_fresh_arena(std::uint64_t limit);

ArenaCounters arena_counters();
void reset_arena_peak();

// True once a request was refused because the arena's limit was reached.
bool arena_was_exhausted();

// Where the fresh arena lies, for whoever places other memory.
inline constexpr std::uintptr_t kFreshArenaBase = 0x5'0000'0000;
inline constexpr std::uint64_t kFreshArenaSize = std::uint64_t{40} << 30;

}  // namespace instr
