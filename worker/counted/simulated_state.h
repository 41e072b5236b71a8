// The state of Callgrind's simulated caches and branch predictor when a block begins: the same in
// each block, process and run. A snippet that runs long enough displaces the earlier state, but not
// every one does: two alternating branches can keep a counter of the predictor as they found it.
#pragma once

namespace instr {

// Fills both first-level caches with lines that no snippet uses. The last level needs nothing: the
// previous block has already used all that a block uses of it.
void forget_caches();

// Sets each of the predictor's counters and targets to a known value.
void forget_branches();

}  // namespace instr
