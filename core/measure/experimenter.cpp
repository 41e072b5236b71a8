#include "core/measure/experimenter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/measure/failure_text.h"
#include "core/measure/verifier.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

Outcome measure(const Variant& variant, const CompiledVariants& compiled, NativeWorker& worker,
                const TimerOptions& options) {
  if (auto failed = compiled.failures.find(variant.key); failed != compiled.failures.end()) {
    return failed->second;
  }
  auto unit = compiled.units.find(variant.key);
  if (unit == compiled.units.end())
    return Failure{FailureKind::kCompileError, "it was not compiled"};
  auto reply = ask_worker("experiment", worker, {unit->second}, options);
  if (!reply) return Failure{FailureKind::kWorkerLost, reply.error()};
  return with_timeout(outcome_of(*reply, variant, nullptr), variant, options.timeout_s);
}

}  // namespace

Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const NativeEvents& events,
                               std::stop_token stop) {
  NativeWorker& worker = language.worker;
  std::vector<Variant> candidates;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(candidates), is_candidate);
  auto to_verify = compile_for_verification(candidates, language, stop);
  if (stop.stop_requested()) return false;
  if (!to_verify) return tl::unexpected(to_verify.error());
  auto to_measure = language.compile(variants, Purpose::kMeasure, stop);
  if (stop.stop_requested()) return false;
  if (!to_measure) return tl::unexpected(to_measure.error());

  VerifierOptions verifying{options.timeout_s, options.memory_limit};
  std::stop_callback end(stop, [&worker] { worker.kill(); });
  for (const Variant& variant : variants) {
    if (stop.stop_requested()) return false;
    events.on_start(variant.key);
    auto begin = Clock::now();
    Measurement one{variant, Counted{}, 0};
    tl::expected<Verification, std::string> verified;
    if (is_candidate(variant)) {
      verified = verify(variant, *to_verify, worker, verifying);
      one.verification = verified.value_or(Verification{});
    }
    if (verified) {
      one.outcome = measure(variant, *to_measure, worker, options);
    } else {
      one.outcome = Failure{FailureKind::kWorkerLost, "while it was verified: " + verified.error()};
    }
    one.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!stop.stop_requested()) events.on_done(std::move(one));
  }
  return !stop.stop_requested();
}

}  // namespace instr
