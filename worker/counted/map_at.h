// Maps memory at a fixed address. Without external linkage: arena.cpp calls it before anything is
// loaded.
#pragma once

#include <stdint.h>
#include <sys/mman.h>

#include <cstddef>

namespace instr {
namespace {

// Maps zeroed memory there and nowhere else. False if the address is not free.
inline bool map_at(uintptr_t address, std::size_t bytes) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const got = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, bytes);
  return false;
}

}  // namespace
}  // namespace instr
