#include "worker/counted/simulated_state.h"

#include <stddef.h>
#include <stdint.h>

// simulated_state.S
extern "C" void instr_run_cache_lines();
extern "C" void instr_run_jumps(void* self);
extern "C" void instr_run_branches(uint64_t pattern);

namespace instr {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kCacheSize = 32 << 10;
alignas(kCacheSize) const volatile unsigned char lines[kCacheSize] = {};
volatile unsigned sink;

// The predictor (Valgrind's cg_branchpred.c) has a counter from 0 to 3 for each pair of the
// outcomes of the last 7 branches and an address's lower 7 bits.
constexpr uint64_t kHistories = 128;

// 9 times the 7 bits of `history`, from the highest bit on.
constexpr uint64_t repeated(uint64_t history) {
  uint64_t pattern = 0;
  for (int i = 0; i < 9; ++i) pattern = pattern << 7 | history;
  return pattern << 1;
}

}  // namespace

void forget_caches() {
  instr_run_cache_lines();
  // Valgrind removes loads whose result is unused.
  unsigned sum = 0;
  for (size_t at = 0; at < kCacheSize; at += kLine) sum += lines[at];
  sink = sum;
}

void forget_branches() {
  instr_run_jumps(reinterpret_cast<void*>(instr_run_jumps));
  for (uint64_t history = 0; history < kHistories; ++history) instr_run_branches(repeated(history));
}

}  // namespace instr
