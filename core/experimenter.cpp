#include "core/experimenter.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "core/measure.h"
#include "core/verifier.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

// Numbers of the reply that are metrics of their names.
constexpr const char* kReplyMetrics[] = {"first_result", "ready", "peak_bytes", "device_peak_bytes",
                                         "operators_cpu", "operators_device", "graphs", "fused",
                                         "fallbacks", "bailouts"};

std::vector<double> numbers_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

Outcome experiment_outcome(const wire::Message& reply, const Variant& variant) {
  if (reply.verb != "experimented") return outcome_of(reply, variant, nullptr);
  Counted counted;
  counted.steady = true;
  Timing timing;
  timing.wall = numbers_of(reply.get("wall"));
  timing.cpu = numbers_of(reply.get("cpu"));
  timing.iterations = std::strtoull(reply.get("iterations").c_str(), nullptr, 10);
  add_times(counted.metrics, timing);
  counted.timing = std::move(timing);
  for (const char* name : kReplyMetrics) {
    bool is_there = reply.fields.contains(name);
    if (is_there) counted.metrics[name] = std::strtod(reply.get(name).c_str(), nullptr);
  }
  return counted;
}

// What compiling to measure gave, by key.
struct Compiled {
  std::map<std::string, CompiledVariant> units;
  std::map<std::string, Outcome> failures;
};

Expected<Compiled> compile_to_measure(const std::vector<Variant>& variants,
                                      const CompileOptions& options, Cache& cache,
                                      std::stop_token stop) {
  Compiled compiled;
  auto on_unit = [&compiled](const UnitResult& unit) {
    for (const auto& one : unit.compiled) compiled.units.emplace(one.variant.key, one);
    for (const auto& one : unit.failed) compiled.failures.emplace(one.variant.key, one.outcome);
  };
  return compile(variants, options, cache, on_unit, stop).map([&] { return std::move(compiled); });
}

Outcome measure(const Variant& variant, const Compiled& compiled, NativeWorker& worker,
                const TimerOptions& options) {
  if (auto failed = compiled.failures.find(variant.key); failed != compiled.failures.end()) {
    return failed->second;
  }
  auto unit = compiled.units.find(variant.key);
  if (unit == compiled.units.end()) return Failure{FailureKind::kCompileError, "it was not compiled"};
  auto reply = ask_worker("experiment", worker, {unit->second}, options);
  if (!reply) return Failure{FailureKind::kWorkerLost, reply.error()};
  return experiment_outcome(*reply, variant);
}

}  // namespace

Expected<bool> run_experiments(const std::vector<Variant>& variants, CompileOptions compile,
                               Cache& cache, NativeWorker& worker, const TimerOptions& options,
                               const NativeEvents& events, std::stop_token stop) {
  std::vector<Variant> candidates;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(candidates), is_candidate);
  auto to_verify = compile_for_verification(candidates, compile, cache, stop);
  if (stop.stop_requested()) return false;
  if (!to_verify) return tl::unexpected(to_verify.error());
  auto to_measure = compile_to_measure(variants, compile, cache, stop);
  if (stop.stop_requested()) return false;
  if (!to_measure) return tl::unexpected(to_measure.error());

  VerifierOptions verifying{options.timeout_s, options.memory_limit};
  std::stop_callback end(stop, [&worker] { worker.kill(); });
  for (const Variant& variant : variants) {
    if (stop.stop_requested()) return false;
    events.on_start(variant.key);
    auto begin = Clock::now();
    Measurement one{variant, Counted{}, 0};
    if (is_candidate(variant)) one.verification = verify(variant, *to_verify, worker, verifying);
    one.outcome = measure(variant, *to_measure, worker, options);
    one.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!stop.stop_requested()) events.on_done(std::move(one));
  }
  return !stop.stop_requested();
}

}  // namespace instr
