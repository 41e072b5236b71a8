// The CPU time of this process, and of those that it has waited for. Not a pinned clock.
#pragma once

#include <stdint.h>
#include <sys/resource.h>

namespace instr {

inline uint64_t used_cpu_us() {
  uint64_t sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      sum += static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
    }
  }
  return sum;
}

}  // namespace instr
