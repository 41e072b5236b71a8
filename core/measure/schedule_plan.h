// The scheduler's decisions, as pure functions: what starts next, and what is retried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// A variant that waits. It needs one core, since Valgrind runs one of its threads at a time.
struct Candidate {
  double seconds = 1;  // expected
  bool zygote_ready = true;
  bool needs_another_host = false;  // all hosts that have loaded its unit are busy
  std::uint64_t order = 0;          // its row's order
};

// Returns the candidate that starts next; nothing if none can. `left`: the expected seconds of all
// waiting variants, divided by the cores. A candidate that takes half of that or more goes first,
// since it would run alone at the end; then those that load no unit a second time; else the order
// decides, so that rows are complete from the first to the last.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, double left);

// Returns the bytes that a variant may use: 8 GiB, or less if `jobs` of them would not fit into
// three quarters of the machine's memory.
std::uint64_t default_memory_limit(std::uint64_t machine_bytes, int jobs);
std::uint64_t memory_limit_here(int jobs);  // the limit on this machine

// Returns true if a variant that failed for the `attempts`-th time is retried: only a lost worker
// is not the variant's fault.
bool should_retry(FailureKind kind, int attempts, int retries);

}  // namespace instr
