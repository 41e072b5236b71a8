// The machine's use by other processes while this one is timed.
#pragma once

#include <optional>

namespace instr {

class MachineUse {
 public:
  MachineUse();  // starts the measurement

  // The average number of cores that other processes have used since then, including those that
  // other virtual machines took; nothing if the kernel does not report it. It counts in ticks of 10
  // ms.
  std::optional<double> others() const;

 private:
  double start_;               // seconds of the clock
  double own_;                 // CPU seconds of this process
  std::optional<double> all_;  // CPU seconds of all processes
};

}  // namespace instr
