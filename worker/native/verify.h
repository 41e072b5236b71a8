// Runs a snippet's eager variant and another variant, each from its own setup, and reports how far
// their results differ. The coordinator decides which differences are acceptable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "worker/wire.h"

namespace instr {

// The allowed difference of values of a floating-point type: atol + rtol * |eager's|.
struct Allowed {
  double relative = 0;
  double absolute = 0;
};

struct VerificationRequest {
  const void* eager = nullptr;  // verifiers, from find_code() (worker/unit.h)
  const void* candidate = nullptr;
  int threads = 1;
  std::map<std::string, Allowed> allowed;  // key: LibTorch's name ("Float"); others must be equal

  bool is_complete() const { return eager != nullptr && candidate != nullptr; }
};

// Replies `raised`, `nothing`, `nondeterministic` or `compared` (worker/wire.h). Calls `on_stage`
// before each run: "eager", "candidate", "reference".
wire::Message verify(const VerificationRequest& request,
                     const std::function<void(const std::string& stage)>& on_stage);

}  // namespace instr
