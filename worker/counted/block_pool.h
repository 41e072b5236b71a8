// The blocks of one size class: which are free, and where they are. For arena.cpp alone, like
// size_classes.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "worker/counted/size_classes.h"

namespace instr {
namespace {

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

}  // namespace
}  // namespace instr
