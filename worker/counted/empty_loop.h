// The cost of the empty loop of a unit, which is subtracted from each count of its snippets.
#pragma once

#include <stdint.h>

#include "worker/counted/run_snippet.h"
#include "worker/wire.h"

namespace instr {

struct EmptyLoop {
  Events events{};        // events per iteration; all 0: could not be counted
  uint64_t entry_ir = 0;  // instructions for entering a block
  uint64_t allocs = 0;    // a block's allocations, like the following
  uint64_t alloc_bytes = 0;
  uint64_t peak_bytes = 0;
};

EmptyLoop read_empty_loop(const RunResult& result);

// Adds the loop's counts to a reply; fails if there are none.
wire::Message with_loop(wire::Message reply, const EmptyLoop& loop);

}  // namespace instr
