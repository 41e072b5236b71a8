// The verdict on whether a variant computes the same as the eager variant of its benchmark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/definitions/variant.h"

namespace instr {

enum class VerificationCode {
  kPass,
  kFail,
  kEagerFailed,
  kExceptionRaised,
  kNondeterministicEagerRun,
  kVerifierSkipped,   // there is nothing to compare
  kVerifierDidntRun,  // the worker was lost, crashed or timed out before a verdict
};

// "PASS", "EAGER_FAILED", ..., as in results and reports.
const char* to_string(VerificationCode code);
std::optional<VerificationCode> verification_code_from(const std::string& name);
std::vector<std::string> verification_code_names();

struct Verification {
  VerificationCode code = VerificationCode::kVerifierDidntRun;
  std::string reason;

  bool operator==(const Verification&) const = default;

  // True if a run with this verification has failed.
  bool is_wrong() const {
    return code == VerificationCode::kFail || code == VerificationCode::kExceptionRaised ||
           code == VerificationCode::kEagerFailed || code == VerificationCode::kVerifierDidntRun;
  }
};

// True if there is an eager variant to compare this variant with.
bool is_candidate(const Variant& variant);

// Makes the eager variant of the same benchmark.
Variant make_eager(const Variant& candidate);

}  // namespace instr
