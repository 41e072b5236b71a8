// The program's exit status; scripts rely on it.
#pragma once

#include "core/base/error.h"

namespace instr {

enum ExitStatus {
  kGood = 0,
  kNotMeasured = 1,  // something could not be measured
  kBadSetup = 2,     // usage, definitions or setup; results that cannot be compared
  kRegression = 3,   // a metric is beyond its limit
  kInterrupted = 130,
  kReaderLeft = 141,  // standard output was closed early, as by `head`; as SIGPIPE elsewhere
};

// A command returns its status, or the errors that kept it from its work.
using ExpectedStatus = tl::expected<int, Errors>;

// Reports the errors on standard error; returns kBadSetup.
ExitStatus refuse(const Errors& errors);

}  // namespace instr
