#include "core/measure/verifier.h"

#include <utility>

#include "core/definitions/axes.h"
#include "core/measure/failure_text.h"
#include "core/measure/judge_outputs.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Code = VerificationCode;

wire::Message make_request(const Variant& candidate, const TimerOptions& options,
                           std::chrono::milliseconds limit) {
  wire::Message request{"verify",
                        {{"device", candidate.device},
                         {"threads", std::to_string(candidate.threads)},
                         {"dtype", find_default_type(candidate)},
                         {"memory_limit", std::to_string(options.memory_limit)},
                         {"timeout_ms", std::to_string(limit.count())}}};
  if (is_compiled(candidate.backend)) add_to(request, options.compiler, candidate);
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

void add_verification(wire::Message& request, std::set<std::filesystem::path>& units,
                      const Variant& candidate, const CompiledVariants& compiled) {
  const auto unit = compiled.units.find(candidate.key);
  const auto eager = compiled.units.find(make_eager(candidate).key);
  if (unit == compiled.units.end() || eager == compiled.units.end()) return;
  units.insert({unit->second.unit, eager->second.unit});
  request.fields["eager"] = eager->second.symbol;
  request.fields["candidate"] = unit->second.symbol;
  request.fields["allowed"] = allowed_differences(candidate);
}

Verification judge(const wire::Message& reply, const Variant& candidate) {
  Verification verified = judge(reply, candidate.tolerance);
  const auto kind = failure_kind_from(reply.get("kind"));
  if (kind == FailureKind::kTimedOut) verified.reason += timeout_advice(candidate);
  if (auto place = script_place(reply.get("message"), candidate)) {
    verified.reason = to_string(*place) + ": " + verified.reason;
  }
  return verified;
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
  const auto limit = timeout_of(time_limit(candidate, options.config));
  wire::Message request = make_request(candidate, options, limit);
  std::set<std::filesystem::path> units;
  add_verification(request, units, candidate, compiled);
  if (units.empty()) return Verification{Code::kVerifierDidntRun, "it was not compiled"};
  TRY_ASSIGN(auto reply, worker.ask(units, request, limit));
  const auto kind = failure_kind_from(reply.get("kind"));
  if (reply.verb == "failed" && kind == FailureKind::kWorkerLost)
    return tl::unexpected(reply.get("message"));
  return judge(reply, candidate);
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
