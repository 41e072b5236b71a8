// Sets the state of Callgrind's simulated caches and branch predictor when a block begins, the same
// in each block, process and run. Not every snippet displaces the earlier state: two alternating
// branches can keep a counter of the predictor unchanged.
#pragma once

namespace instr {

// Fills both first-level caches with lines that no snippet uses. The last level is left: the
// previous block has already used everything there that a block uses.
void forget_caches();

// Sets each of the predictor's counters and targets to a known value.
void forget_branches();

}  // namespace instr
