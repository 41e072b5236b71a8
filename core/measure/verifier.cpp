#include "core/measure/verifier.h"

#include <set>
#include <utility>

#include "core/definitions/axes.h"
#include "core/measure/failure_text.h"
#include "core/measure/judge_outputs.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Code = VerificationCode;

wire::Message verify_request(const CompiledVariant& candidate, const CompiledVariant& eager,
                             const TimerOptions& options, std::chrono::milliseconds limit) {
  const Variant& variant = candidate.variant;
  wire::Message request{"verify",
                        {{"eager", eager.symbol},
                         {"candidate", candidate.symbol},
                         {"device", variant.device},
                         {"threads", std::to_string(variant.threads)},
                         {"dtype", find_default_type(variant)},
                         {"allowed", allowed_differences(variant)},
                         {"memory_limit", std::to_string(options.memory_limit)},
                         {"timeout_ms", std::to_string(limit.count())}}};
  if (is_compiled(variant.backend)) add_to(request, options.compiler);
  // The first backward(), which is eager's, prepares for the devices that exist by then.
  if (facts_of(variant.backend).is_on_xla) request.fields["compiler_logs"] += " xla";
  return request;
}

}  // namespace

Expected<CompiledVariants> compile_for_verification(const std::vector<Variant>& candidates,
                                                    const NativeLanguage& language,
                                                    std::stop_token stop) {
  std::vector<Variant> all;
  std::set<std::string> keys;
  for (const Variant& candidate : candidates) {
    for (const Variant& variant : {make_eager(candidate), candidate}) {
      if (keys.insert(variant.key).second) all.push_back(variant);
    }
  }
  return language.support.compile_all(all, Purpose::kVerify, stop);
}

tl::expected<Verification, std::string> verify(const Variant& candidate,
                                               const CompiledVariants& compiled,
                                               NativeWorker& worker, const TimerOptions& options) {
  std::string eager_key = make_eager(candidate).key;
  if (auto failed = compiled.failures.find(eager_key); failed != compiled.failures.end()) {
    return Verification{Code::kEagerFailed, failed->second.message};
  }
  if (auto failed = compiled.failures.find(candidate.key); failed != compiled.failures.end()) {
    return Verification{Code::kVerifierDidntRun, failed->second.message};
  }
  auto unit = compiled.units.find(candidate.key);
  auto eager = compiled.units.find(eager_key);
  if (unit == compiled.units.end() || eager == compiled.units.end()) {
    return Verification{Code::kVerifierDidntRun, "it was not compiled"};
  }
  auto limit = timeout_of(candidate.timeout.value_or(options.timeout_s));
  TRY_ASSIGN(auto reply,
             worker.ask({unit->second.unit, eager->second.unit},
                        verify_request(unit->second, eager->second, options, limit), limit));
  const auto kind = failure_kind_from(reply.get("kind"));
  if (reply.verb == "failed" && kind == FailureKind::kWorkerLost)
    return tl::unexpected(reply.get("message"));
  Verification verified = judge(reply, candidate.tolerance);
  if (kind == FailureKind::kTimedOut) verified.reason += timeout_advice(candidate);
  if (auto place = script_place(reply.get("message"), candidate)) {
    verified.reason = to_string(*place) + ": " + verified.reason;
  }
  return verified;
}

Expected<bool> verify_all(const std::vector<Variant>& candidates, const NativeLanguage& language,
                          const TimerOptions& options, const MeasureEvents& events,
                          std::stop_token stop) {
  const auto compiled = compile_for_verification(candidates, language, stop);
  if (stop.stop_requested()) return false;
  TRY(compiled);
  return language.measure_each(candidates, events, stop, [&](const Variant& candidate) {
    auto verified = verify(candidate, *compiled, language.worker, options);
    if (!verified) verified = Verification{Code::kVerifierDidntRun, verified.error()};
    Counted counted;
    counted.steady = true;
    return Measurement{candidate, std::move(counted), 0, *std::move(verified)};
  });
}

}  // namespace instr
