#include "core/verifier.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "core/private_folder.h"
#include "core/worker_client.h"
#include "core/zygote_pool.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;
using Code = VerificationCode;

constexpr std::chrono::minutes kStartTimeout{2};

// What compiling gave, by key.
struct Compiled {
  std::map<std::string, CompiledVariant> units;
  std::map<std::string, std::string> failures;  // the compiler's words
};

Expected<Compiled> compile_for_verification(const std::vector<Variant>& candidates,
                                            CompileOptions options, Cache& cache,
                                            std::stop_token stop) {
  options.purpose = Purpose::kVerify;
  options.each_alone = false;
  std::vector<Variant> all;
  std::set<std::string> keys;
  for (const Variant& candidate : candidates) {
    for (const Variant& one : {eager_of(candidate), candidate}) {
      if (keys.insert(one.key).second) all.push_back(one);
    }
  }
  Compiled compiled;
  auto on_unit = [&compiled](const UnitResult& unit) {
    for (const auto& one : unit.compiled) compiled.units.emplace(one.variant.key, one);
    for (const auto& one : unit.failed) {
      compiled.failures[one.variant.key] = std::get<Failure>(one.outcome).message;
    }
  };
  return compile(all, options, cache, on_unit, stop).map([&] { return std::move(compiled); });
}

class Verifier {
 public:
  Verifier(const VerifierOptions& options, PrivateFolder folder)
      : options_(options), folder_(std::move(folder)) {}

  Expected<void> start() {
    auto started = Zygote::start(
        {.worker = options_.worker, .work_dir = folder_.path(), .is_native = true});
    if (!started) return tl::unexpected(started.error());
    worker_ = std::move(*started);
    return worker_->await_hello(kStartTimeout).and_then(check_hello).map([](const auto&) {});
  }

  void kill() { worker_->kill(); }

  Verification verify(const Variant& candidate, const Compiled& compiled) {
    std::string eager_key = eager_of(candidate).key;
    if (auto failed = compiled.failures.find(eager_key); failed != compiled.failures.end()) {
      return {Code::kEagerFailed, failed->second};
    }
    if (auto failed = compiled.failures.find(candidate.key); failed != compiled.failures.end()) {
      return {Code::kVerifierDidntRun, failed->second};
    }
    auto one = compiled.units.find(candidate.key);
    auto eager = compiled.units.find(eager_key);
    if (one == compiled.units.end() || eager == compiled.units.end()) {
      return {Code::kVerifierDidntRun, "it was not compiled"};
    }
    auto reply = ask(one->second, eager->second);
    if (!reply) return {Code::kVerifierDidntRun, reply.error()};
    return verification_of(*reply, candidate.tolerance);
  }

 private:
  // The worker's answer; or what was lost.
  tl::expected<wire::Message, std::string> ask(const CompiledVariant& candidate,
                                               const CompiledVariant& eager) {
    auto host = Host::fork(worker_);
    if (!host) return lost(host.error());
    for (const auto& unit : std::set{candidate.unit, eager.unit}) {
      auto loaded = (*host)->request(load_request(options_.worker, unit), kStartTimeout);
      if (!loaded) return tl::unexpected(std::string("loading the unit ended the worker"));
      if (loaded->verb != "loaded") return *std::move(loaded);
    }
    auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(
        candidate.variant.timeout.value_or(options_.timeout_s) * 1000));
    wire::Message request{
        "verify",
        {{"eager", eager.symbol},
         {"candidate", candidate.symbol},
         {"device", candidate.variant.device},
         {"threads", std::to_string(candidate.variant.threads)},
         {"allowed", allowed_differences(candidate.variant.tolerance)},
         {"memory_limit", std::to_string(options_.memory_limit)},
         {"timeout_ms", std::to_string(limit.count())}}};
    auto reply = (*host)->request(request, limit + kStartTimeout);
    if (!reply) return lost(reply.error());
    return *std::move(reply);
  }

  static tl::unexpected<std::string> lost(Loss loss) {
    return tl::unexpected("the worker was lost: " + std::string(to_string(loss)));
  }

  const VerifierOptions& options_;
  const PrivateFolder folder_;
  std::shared_ptr<Zygote> worker_;
};

}  // namespace

bool is_candidate(const Variant& variant) { return variant.runtime != Runtime::kEager; }

Variant eager_of(const Variant& candidate) {
  Variant eager = candidate;
  eager.runtime = Runtime::kEager;
  std::string end = fmt::format("/{}/t{}/{}", to_string(candidate.autograd), candidate.threads,
                                candidate.device);
  std::string runtime = std::string("/") + to_string(candidate.runtime) + end;
  if (eager.key.ends_with(runtime)) {
    eager.key.resize(eager.key.size() - runtime.size());
    eager.key += std::string("/") + to_string(Runtime::kEager) + end;
  }
  return eager;
}

Expected<bool> verify_all(const std::vector<Variant>& candidates, CompileOptions compile,
                          Cache& cache, const VerifierOptions& options,
                          const VerifierEvents& events, std::stop_token stop) {
  auto compiled = compile_for_verification(candidates, std::move(compile), cache, stop);
  if (stop.stop_requested()) return false;
  if (!compiled) return tl::unexpected(compiled.error());
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  Verifier verifier(options, std::move(*folder));
  if (auto started = verifier.start(); !started) return tl::unexpected(started.error());
  std::stop_callback end(stop, [&verifier] { verifier.kill(); });
  for (const Variant& candidate : candidates) {
    if (stop.stop_requested()) return false;
    events.on_start(candidate.key);
    auto begin = Clock::now();
    Measurement one{candidate, Counted{}, 0, verifier.verify(candidate, *compiled)};
    one.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::get<Counted>(one.outcome).steady = true;
    if (!stop.stop_requested()) events.on_done(std::move(one));
  }
  return !stop.stop_requested();
}

}  // namespace instr
