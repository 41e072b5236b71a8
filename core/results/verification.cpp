#include "core/results/verification.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

namespace instr {

namespace {

constexpr std::array<std::pair<VerificationCode, const char*>, 7> kCodeNames{{
    {VerificationCode::kPass, "PASS"},
    {VerificationCode::kFail, "FAIL"},
    {VerificationCode::kEagerFailed, "EAGER_FAILED"},
    {VerificationCode::kExceptionRaised, "EXCEPTION_RAISED"},
    {VerificationCode::kNondeterministicEagerRun, "NONDETERMINISTIC_EAGER_RUN"},
    {VerificationCode::kVerifierSkipped, "VERIFIER_SKIPPED"},
    {VerificationCode::kVerifierDidntRun, "VERIFIER_DIDNT_RUN"},
}};

}  // namespace

const char* to_string(VerificationCode code) {
  for (const auto& [known, name] : kCodeNames) {
    if (known == code) return name;
  }
  return "VERIFIER_DIDNT_RUN";
}

std::optional<VerificationCode> verification_code_from(const std::string& name) {
  for (const auto& [code, known] : kCodeNames) {
    if (name == known) return code;
  }
  return std::nullopt;
}

std::vector<std::string> verification_code_names() {
  std::vector<std::string> names;
  for (const auto& [code, name] : kCodeNames) names.emplace_back(name);
  return names;
}

bool is_candidate(const Variant& variant) { return variant.backend != Backend::kEager; }

Variant eager_of(const Variant& candidate) {
  Variant eager = candidate;
  eager.backend = Backend::kEager;
  std::string end =
      fmt::format("/{}/t{}/{}", to_string(candidate.autograd), candidate.threads, candidate.device);
  std::string backend = std::string("/") + to_string(candidate.backend) + end;
  if (eager.key.ends_with(backend)) {
    eager.key.resize(eager.key.size() - backend.size());
    eager.key += std::string("/") + to_string(Backend::kEager) + end;
  }
  return eager;
}

}  // namespace instr
