// How busy the machine is with other processes while this one is timed.
#pragma once

#include <optional>

namespace instr {

class MachineUse {
 public:
  MachineUse();  // begins to watch

  // Cores that other processes have used since then, on average, with what another machine on the
  // same hardware took; nothing where the kernel does not tell. It counts in ticks of 10 ms.
  std::optional<double> others() const;

 private:
  double start_;               // seconds of the clock
  double own_;                 // CPU seconds of this process
  std::optional<double> all_;  // CPU seconds of all of them
};

}  // namespace instr
