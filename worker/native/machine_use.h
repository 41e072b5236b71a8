// CPU time of this process, of the processes it started, and of all others on the machine.
#pragma once

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "worker/cpu_watch.h"

namespace instr {

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Returns the CPU seconds of this process and its descendants. Those of living descendants count in
// ticks of 10 ms.
inline double cpu_seconds_of_tree() {
  rusage ended{};
  getrusage(RUSAGE_CHILDREN, &ended);
  ProcessTree living;
  living.add_children_of(getpid());
  living.add_descendants();
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) + seconds_of(ended.ru_utime) +
         seconds_of(ended.ru_stime) + static_cast<double>(living.use().cpu_ms) * 1e-3;
}

// Returns the CPU seconds of all processes: the first line of /proc/stat. Guests, which follow, are
// included in users already.
inline std::optional<double> cpu_seconds_of_machine() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, disk = 0, irq = 0, soft_irq = 0, stolen = 0;
  stat >> name >> user >> nice >> system >> idle >> disk >> irq >> soft_irq >> stolen;
  if (!stat || name != "cpu") return std::nullopt;
  return (user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The machine's use by others than this process and its descendants since this was made.
class MachineUse {
 public:
  // The average number of cores, including those that other virtual machines took; nothing if the
  // kernel does not report it. It counts in ticks of 10 ms.
  std::optional<double> others() const {
    const auto all = cpu_seconds_of_machine();
    const double elapsed = seconds_of(CLOCK_MONOTONIC) - start_;
    if (!all || !all_ || elapsed <= 0) return std::nullopt;
    return std::max(0.0, *all - *all_ - (cpu_seconds_of_tree() - own_)) / elapsed;
  }

 private:
  const double start_ = seconds_of(CLOCK_MONOTONIC);
  const double own_ = cpu_seconds_of_tree();
  const std::optional<double> all_ = cpu_seconds_of_machine();
};

}  // namespace instr
