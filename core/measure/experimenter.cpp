#include "core/measure/experimenter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/private_folder.h"
#include "core/compile/compiled_variant.h"
#include "core/measure/failure_text.h"
#include "core/measure/parse_reply.h"
#include "core/measure/verifier.h"

namespace instr {

namespace {

struct Compiled {
  CompiledVariants to_verify;
  CompiledVariants to_measure;
};

class Experiment {
 public:
  Experiment(const Variant& variant, const Compiled& compiled, NativeWorker& worker,
             TimerOptions options)
      : variant_(variant), compiled_(compiled), worker_(worker), options_(std::move(options)) {}

  Measurement run() {
    Measurement result{variant_, Counted{}, 0};
    std::optional<Outcome> failed = start();
    const bool is_skipped = failed && std::holds_alternative<Skipped>(*failed);
    if (is_candidate(variant_) && !is_skipped) {
      auto verification = verify(variant_, compiled_.to_verify, worker_, options_);
      result.verification = verification.value_or(Verification{});
      if (!verification) {
        failed =
            Failure{FailureKind::kWorkerLost, "while it was verified: " + verification.error()};
      }
    }
    result.outcome = failed ? *std::move(failed) : measure();
    return result;
  }

 private:
  // For a variant that is compiled as a whole: starts it with an empty cache of its compiler, so
  // that later requests find the same code there.
  std::optional<Outcome> start() {
    if (!is_compiled(variant_.backend)) return std::nullopt;
    auto folder = PrivateFolder::make();
    if (!folder) return Failure{FailureKind::kWorkerLost, to_string(folder.error())};
    cache_ = *std::move(folder);
    options_.compiler.cache = cache_->path();
    auto reply = ask("start");
    if (!reply) return reply.error();
    started_ = *std::move(reply);
    return started_.verb == "started" ? std::nullopt : std::optional(outcome(started_));
  }

  Outcome measure() {
    auto reply = ask("experiment");
    if (!reply) return reply.error();
    if (reply->verb == "experimented" && started_.verb == "started") {
      reply->fields["warm_ready"] = reply->get(kReadyTime);
      for (const char* cold : {kFirstResultTime, kReadyTime})
        reply->fields[cold] = started_.get(cold);
    }
    return outcome(*reply);
  }

  tl::expected<wire::Message, Outcome> ask(const char* verb) {
    const auto& [units, failures] = compiled_.to_measure;
    if (auto failed = failures.find(variant_.key); failed != failures.end()) {
      return tl::unexpected<Outcome>(failed->second);
    }
    auto unit = units.find(variant_.key);
    if (unit == units.end()) {
      return tl::unexpected<Outcome>(Failure{FailureKind::kCompileError, "it was not compiled"});
    }
    return ask_worker(verb, worker_, {unit->second}, options_).map_error([](const auto& how) {
      return Outcome(Failure{FailureKind::kWorkerLost, how});
    });
  }

  Outcome outcome(const wire::Message& reply) const {
    return with_timeout_advice(parse_reply(reply, variant_), variant_);
  }

  const Variant& variant_;
  const Compiled& compiled_;
  NativeWorker& worker_;
  TimerOptions options_;
  std::optional<PrivateFolder> cache_;  // for the compiler of this experiment alone
  wire::Message started_;               // the reply to `start`, when it was empty
};

}  // namespace

Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const MeasureEvents& events,
                               std::stop_token stop) {
  std::vector<Variant> candidates;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(candidates), is_candidate);
  auto to_verify = compile_for_verification(candidates, language, stop);
  if (stop.stop_requested()) return false;
  TRY(to_verify);
  auto to_measure = language.support.compile_all(variants, Purpose::kMeasure, stop);
  if (stop.stop_requested()) return false;
  TRY(to_measure);
  const Compiled compiled{*std::move(to_verify), *std::move(to_measure)};
  return language.measure_each(variants, events, stop, [&](const Variant& variant) {
    return Experiment(variant, compiled, language.worker, options).run();
  });
}

}  // namespace instr
