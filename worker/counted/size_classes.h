// The sizes of the arena's blocks. For arena.cpp alone, and without external linkage: calls of
// external functions take an instruction more in a shared object.
#pragma once

#include <bit>
#include <cstddef>

namespace instr {
namespace {

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

}  // namespace
}  // namespace instr
