// The scheduler's decisions, as pure functions: what starts next, and what is retried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/results/measurement.h"

namespace instr {

// The one of a unit's waiting variants that is expected to take longest. However many threads it
// has, it keeps one core busy: Valgrind runs one of them at a time.
struct Candidate {
  double seconds = 1;          // expected
  bool zygote_ready = true;    // else it would only wait
  bool has_idle_host = false;  // that has loaded the unit already
  int busy_hosts = 0;
  std::uint64_t order = 0;  // position in the order of addition
};

// The candidate that starts next; nothing if none can. One that would take half of what is left for
// each core or more goes before all shorter ones, since it would run alone at the end. Otherwise
// those whose unit is loaded, then those with the fewest hosts, then in order. `left`: the expected
// seconds of all that waits, divided by the cores.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, double left);

// Bytes that one variant may use by default: 8 GiB, or less if `jobs` of them would not
// fit into three quarters of the machine's memory.
std::uint64_t default_memory_limit(std::uint64_t physical_bytes, int jobs);
std::uint64_t memory_limit_here(int jobs);  // of this machine

// Whether a variant that failed this way, for the `attempts`-th time, is retried. Only a lost
// worker says nothing about the variant.
bool should_retry(FailureKind kind, int attempts, int retries);

}  // namespace instr
