#include <stdint.h>
#include <stdlib.h>

#include "worker/counted/arena.h"
#include "worker/python/counted/pins.h"
#include "worker/python/side.h"

namespace instr {
namespace {

constexpr unsigned kClasses = 40;  // blocks of up to 64 KiB
constexpr uint64_t kLevel = 64;    // blocks; a processor's description takes fewer of each class
constexpr uint64_t kMax = 1 << 20;
void* volatile last;  // keeps compilers from removing the allocations

// Uses up the free blocks of each class, and makes new ones, at least one, up to a multiple of
// kLevel: after two calls, the number of blocks taken in between does not matter.
void level() {
  for (unsigned i = 0; i < kClasses; ++i) {
    const BlocksMade before = blocks_made(i);
    for (uint64_t tries = 0; tries < kMax; ++tries) {
      last = malloc(before.bytes);
      const uint64_t made = blocks_made(i).count;
      if (made != before.count && made % kLevel == 0) break;
    }
  }
}

}  // namespace

void describe_processor() {
  level();
  Py_DecRef(call(side_attribute("describe_processor")));
  level();
}

}  // namespace instr
