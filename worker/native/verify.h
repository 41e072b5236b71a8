// Runs a snippet's eager variant and another one, each from a setup of its own, and reports how far
// their results differ. Which differences are acceptable is not decided here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "worker/wire.h"

namespace instr {

// The allowed difference of floating-point values of a data type: atol + rtol * |eager's|.
struct Allowed {
  double relative = 0;
  double absolute = 0;
};

struct VerificationRequest {
  const void* eager = nullptr;  // verifiers: find_code() of each (worker/unit.h)
  const void* candidate = nullptr;
  int threads = 1;
  std::map<std::string, Allowed> allowed;  // by LibTorch's names ("Float"); others must be equal
};

// `raised`, `nothing`, `nondeterministic` or `compared` (worker/wire.h). `on_stage` is called
// before each part whose code is about to run: "eager", "candidate", "reference".
wire::Message verify(const VerificationRequest& request,
                     const std::function<void(const std::string& stage)>& on_stage);

}  // namespace instr
