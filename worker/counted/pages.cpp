#include "worker/counted/pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "worker/counted/arena.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace instr {
namespace {

constexpr uint64_t kValgrindBase = 0x10'0000'0000;  // Valgrind's own mappings begin here
constexpr uint64_t kHugePage = 2 << 20;

void gather(uint64_t begin, uint64_t end) {
  uint64_t from = (begin + kHugePage - 1) & ~(kHugePage - 1);
  uint64_t to = end & ~(kHugePage - 1);
  if (from >= to || madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE) != 0) return;
  // A single call for all pages would stop at the first empty one.
  for (uint64_t at = from; at < to; at += kHugePage) {
    madvise(reinterpret_cast<void*>(at), kHugePage, MADV_COLLAPSE);
  }
}

}  // namespace

void gather_pages() {
  visit_start_arena(gather);
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[512];
  while (fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin, end, inode;
    char access[8];
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, access, &inode) != 4) continue;
    if (begin >= kValgrindBase && inode == 0 && access[1] == 'w' && strchr(line, '[') == nullptr) {
      gather(begin, end);
    }
  }
  fclose(maps);
}

}  // namespace instr
