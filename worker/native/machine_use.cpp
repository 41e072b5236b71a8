#include "worker/native/machine_use.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace instr {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Reads the first line of /proc/stat. Guests, which follow, are included in users already.
std::optional<double> machine_seconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, disk = 0, irq = 0, soft_irq = 0, stolen = 0;
  stat >> name >> user >> nice >> system >> idle >> disk >> irq >> soft_irq >> stolen;
  if (!stat || name != "cpu") return std::nullopt;
  return (user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

MachineUse::MachineUse()
    : start_(seconds_of(CLOCK_MONOTONIC)),
      own_(seconds_of(CLOCK_PROCESS_CPUTIME_ID)),
      all_(machine_seconds()) {}

std::optional<double> MachineUse::others() const {
  const auto all = machine_seconds();
  const double elapsed = seconds_of(CLOCK_MONOTONIC) - start_;
  if (!all || !all_ || elapsed <= 0) return std::nullopt;
  const double own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own_;
  return std::max(0.0, *all - *all_ - own) / elapsed;
}

}  // namespace instr
