// The scheduler's decisions, as pure functions: what starts next, and what is retried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/measurement.h"

namespace instr {

// The number of cores, of `jobs`, that a variant of so many threads takes.
int cores_for(int threads, int jobs);

// The head of one queue of waiting variants.
struct Candidate {
  int cores = 1;
  bool zygote_ready = true;    // else it would only wait
  bool has_idle_host = false;  // that has loaded the unit already
  int busy_hosts = 0;
  std::uint64_t order = 0;  // position in the order of addition
};

// The candidate that starts next with so many free cores; nothing if none can. Variants of few
// threads first, so that those of many do not keep cores idle while they wait for the rest; but
// while a zygote starts, those of many, since Valgrind runs one of their threads at a time and the
// zygote can use the core that this leaves; then those whose unit is loaded, then those with the
// fewest hosts, then in order.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, int free_cores,
                                  bool zygote_starts = false);

// Bytes that one variant may use by default: 8 GiB, or less if `jobs` of them would not
// fit into three quarters of the machine's memory.
std::uint64_t default_memory_limit(std::uint64_t physical_bytes, int jobs);
std::uint64_t memory_limit_here(int jobs);  // of this machine

// Whether a variant that failed this way, for the `attempts`-th time, is retried. Only a lost
// worker says nothing about the variant.
bool should_retry(FailureKind kind, int attempts, int retries);

}  // namespace instr
