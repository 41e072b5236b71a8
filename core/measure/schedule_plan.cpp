#include "core/measure/schedule_plan.h"

#include <algorithm>
#include <tuple>

#include "core/base/machine_memory.h"

namespace instr {

std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, double left) {
  auto rank = [left](const Candidate& c) {
    const bool is_long = 2 * c.seconds >= left;
    return std::tuple(is_long ? -c.seconds : 0, c.needs_another_host, c.order);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& candidate = candidates[i];
    if (!candidate.zygote_ready) continue;
    if (!best || rank(candidate) < rank(candidates[*best])) best = i;
  }
  return best;
}

std::uint64_t default_memory_limit(std::uint64_t machine_bytes, int jobs) {
  constexpr std::uint64_t kMax = std::uint64_t{8} << 30;
  return std::min(kMax, machine_bytes / 4 * 3 / static_cast<std::uint64_t>(std::max(jobs, 1)));
}

std::uint64_t memory_limit_here(int jobs) { return default_memory_limit(machine_memory(), jobs); }

bool should_retry(FailureKind kind, int attempts, int retries) {
  return kind == FailureKind::kWorkerLost && attempts <= retries;
}

}  // namespace instr
