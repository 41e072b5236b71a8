// How busy the machine is with other processes while this one is timed.
#pragma once

#include <optional>

namespace instr {

class MachineUse {
 public:
  MachineUse();  // starts the measurement

  // Cores that other processes have used since then, on average, including those taken by other
  // virtual machines on the same hardware; nothing if the kernel does not say. It counts in ticks
  // of 10 ms.
  std::optional<double> others() const;

 private:
  double start_;               // seconds of the clock
  double own_;                 // CPU seconds of this process
  std::optional<double> all_;  // CPU seconds of all of them
};

}  // namespace instr
