#include "worker/python/counted/processor.h"

#include <stdint.h>
#include <stdlib.h>

#include "worker/counted/arena.h"
#include "worker/python/side.h"

namespace instr {
namespace {

constexpr unsigned kClasses = 40;  // blocks of up to 64 KiB
constexpr uint64_t kLevel = 64;  // blocks; a description of the processor takes fewer of each class
constexpr uint64_t kMax = 1 << 20;
void* volatile last;  // so that no compiler leaves out what only takes room

// Uses up the free blocks of each class, and makes new ones up to a multiple of kLevel, at least
// one: what was taken since the last time is then the same whatever it was.
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
