// The program's exit status; scripts rely on it.
#pragma once

#include "core/base/error.h"

namespace instr {

enum ExitStatus {
  kGood = 0,
  kNotMeasured = 1,  // something could not be measured
  kBadSetup = 2,     // usage, definitions or setup; results that cannot be compared
  kRegression = 3,   // beyond its limit
  kInterrupted = 130,
  kReaderLeft = 141,  // standard output's reader, as in `| head`: what SIGPIPE gives other programs
};

// Reports the errors on standard error; returns kBadSetup.
ExitStatus refuse(const Errors& errors);
ExitStatus refuse(const Error& error);

}  // namespace instr
