// What Callgrind's simulated caches and branch predictor hold when a block begins: the same in each
// block, process and run. A snippet that goes round for long enough forgets what was there before
// it, but not all do: two branches in turns can keep a counter of the predictor if they found
// it.
#pragma once

namespace instr {

// Fills both first-level caches with lines that no snippet uses. The last level needs nothing: all
// that a block uses of it, the block before it did, too.
void forget_caches();

// Brings each of the predictor's counters and targets to a known value, whatever it was.
void forget_branches();

}  // namespace instr
