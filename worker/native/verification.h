// Runs a snippet's eager variant and another one, each from a setup of its own, and says how far
// what they compute lies apart. Which of that is good enough is not decided here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "worker/abi.h"
#include "worker/wire.h"

namespace instr {

// What floating-point values of a data type may differ by: atol + rtol * |eager's|.
struct Allowed {
  double relative = 0;
  double absolute = 0;
};

struct VerificationRequest {
  instr_verifier eager = nullptr;
  instr_verifier candidate = nullptr;
  std::string device = "cpu";
  int threads = 1;
  std::map<std::string, Allowed> allowed;  // by LibTorch's names ("Float"); others must be equal
  std::uint64_t memory_limit = 0;          // bytes; 0: all there is
};

// `raised`, `nothing`, `nondeterministic` or `compared` (worker/wire.h). `on_stage` is told before
// each part whose code is about to run: "eager", "candidate", "reference".
wire::Message verify(const VerificationRequest& request,
                     const std::function<void(const std::string& stage)>& on_stage);

}  // namespace instr
