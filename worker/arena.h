// The worker's allocator: it takes the place of malloc and its kin in the whole program, so that
// what a snippet's allocations cost depends on the snippet alone, never on the heap's history.
//
// Every block is 64-byte aligned, of a size class, and has a number in its class; the free block
// with the lowest number is used next, and if none is free, one is taken from the top of the
// arena. So where a block lies follows from which blocks live, not from the order in which others
// were freed: an iteration that leaves nothing behind gets the same addresses as the one before,
// and code whose path depends on addresses (hash tables of pointers) costs the same each time.
// Memory never goes back to the system. All start-up goes to one arena; open_fresh_arena() begins
// another one at a fixed address for what follows, and blocks of the first are from then on freed
// into nothing, so that nothing that happened earlier can show.
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

// From here on all blocks come from memory at a fixed address that no block has used before, at
// most `limit` bytes of it (0: all there is), and counters begin at zero. Sets *exhausted to 1 once
// a request is refused for want of memory; it may be null. Once in a process; false if the
// memory could not be mapped there, or when called again.
bool open_fresh_arena(std::uint64_t limit, std::uint32_t* exhausted);

// Opens a fresh arena and takes it back at once, so that what is forked later finds the code warm.
void rehearse_fresh_arena();

ArenaCounters arena_counters();
void reset_arena_peak();

// Memory that blocks have been taken from so far.
struct ArenaExtent {
  std::uintptr_t begin;
  std::uintptr_t end;
};
ArenaExtent arena_extent();

// Most that a fresh arena can hold.
inline constexpr std::uint64_t kFreshArenaSize = std::uint64_t{32} << 30;

}  // namespace instr
