// Whether a variant computes what the eager one of the same benchmark does: the codes, how far
// values may lie apart, and the verdict on what the native worker found. Pure.
#pragma once

#include <optional>
#include <string>

#include "core/definitions/variant.h"

namespace instr {

namespace wire {
struct Message;
}

enum class VerificationCode {
  kPass,
  kFail,
  kEagerFailed,
  kExceptionRaised,
  kNondeterministicEagerRun,
  kVerifierSkipped,   // there is nothing to compare
  kVerifierDidntRun,  // it was lost, crashed or ran out of time before a verdict
};

// "PASS", "EAGER_FAILED", ..., as in results and reports.
const char* to_string(VerificationCode code);
std::optional<VerificationCode> verification_code_from(const std::string& name);

struct Verification {
  VerificationCode code = VerificationCode::kVerifierDidntRun;
  std::string reason;

  bool operator==(const Verification&) const = default;

  // A run that has such a one did not go well.
  bool is_wrong() const {
    return code == VerificationCode::kFail || code == VerificationCode::kExceptionRaised ||
           code == VerificationCode::kEagerFailed || code == VerificationCode::kVerifierDidntRun;
  }
};

// Whether there is an eager variant to hold this one against.
bool is_candidate(const Variant& variant);

// The eager variant of the same benchmark.
Variant eager_of(const Variant& candidate);

// "Float 1.3e-06 1e-05 Double ...": relative and absolute, by LibTorch's names of the data types;
// what is not among them must be equal. As torch.testing has them, but for what the definition
// says.
std::string allowed_differences(const Tolerance& tolerance);

// Of the worker's reply to `verify` (worker/wire.h).
Verification verification_of(const wire::Message& reply, const Tolerance& tolerance);

}  // namespace instr
