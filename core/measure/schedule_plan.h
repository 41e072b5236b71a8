// The scheduler's decisions, without anything that runs: what starts next, and what is tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/measurement.h"

namespace instr {

// Cores that a variant of so many threads takes out of `jobs`.
int cores_for(int threads, int jobs);

// The head of one queue of waiting variants.
struct Candidate {
  int cores = 1;
  bool zygote_ready = true;    // else it would only wait
  bool has_idle_host = false;  // one that has loaded the unit already
  int busy_hosts = 0;
  std::uint64_t order = 0;  // position in the order of adding
};

// Which candidate starts next with so many free cores; nothing if none can. Narrow ones first,
// so that wide ones do not hold cores idle while they wait for the rest; but while a zygote starts,
// wide ones, since Valgrind runs one of their threads at a time and the zygote has use for the core
// that they leave; then those whose unit is loaded, then those that fewest hosts work at, then in
// order.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, int free_cores,
                                  bool zygote_starts = false);

// Bytes that one variant may use where nobody says: 8 GiB, or less if `jobs` of them would not
// fit into three quarters of the machine's memory.
std::uint64_t default_memory_limit(std::uint64_t physical_bytes, int jobs);
std::uint64_t memory_limit_here(int jobs);  // of this machine

// Whether a variant that failed this way, for the `attempts`-th time, is tried again. A lost worker
// alone says nothing of the variant.
bool should_retry(FailureKind kind, int attempts, int retries);

}  // namespace instr
