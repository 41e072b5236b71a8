#include "core/results/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace instr {

namespace {

// In the order of VerificationCode.
constexpr const char* kCodeNames[] = {"PASS",
                                      "FAIL",
                                      "EAGER_FAILED",
                                      "EXCEPTION_RAISED",
                                      "NONDETERMINISTIC_EAGER_RUN",
                                      "VERIFIER_SKIPPED",
                                      "VERIFIER_DIDNT_RUN"};
static_assert(std::size(kCodeNames) ==
              static_cast<std::size_t>(VerificationCode::kVerifierDidntRun) + 1);

}  // namespace

const char* to_string(VerificationCode code) { return kCodeNames[static_cast<std::size_t>(code)]; }

std::optional<VerificationCode> verification_code_from(const std::string& name) {
  const auto known = std::find(std::begin(kCodeNames), std::end(kCodeNames), name);
  if (known == std::end(kCodeNames)) return std::nullopt;
  return static_cast<VerificationCode>(known - std::begin(kCodeNames));
}

std::vector<std::string> verification_code_names() {
  return {std::begin(kCodeNames), std::end(kCodeNames)};
}

bool is_candidate(const Variant& variant) { return variant.backend != Backend::kEager; }

Variant make_eager(const Variant& candidate) {
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
