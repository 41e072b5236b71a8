#include "core/measure/experiment_group.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "core/base/private_folder.h"
#include "core/measure/failure_text.h"
#include "core/measure/parse_reply.h"
#include "core/measure/verifier.h"
#include "core/results/disturbance.h"

namespace instr {

namespace {

// An experiment, and the worker's replies about it so far.
struct Experiment {
  const Variant* variant = nullptr;
  const CompiledVariant* code = nullptr;
  std::optional<Outcome> outcome = {};  // of the repetitions, or the failure
  wire::Message started = {};           // `started`: with an empty cache of its compiler
  wire::Message warm = {};              // with the cache that this left
  std::optional<Verification> verification = {};
  std::optional<std::string> files = {};  // imported by now, a line each
};

using Experiments = std::vector<Experiment*>;

Failure worker_lost(const std::string& how) { return {FailureKind::kWorkerLost, how}; }

const Counted* find_times(const Experiment& experiment) {
  return experiment.outcome ? std::get_if<Counted>(&*experiment.outcome) : nullptr;
}

bool is_eager(const Experiment& experiment) {
  return experiment.variant->backend == Backend::kEager;
}

// Keeps the earlier times if there are no new ones, or if other processes disturbed them more.
void take_outcome(Outcome outcome, Experiment& experiment) {
  const Counted* before = find_times(experiment);
  auto* after = std::get_if<Counted>(&outcome);
  if (before == nullptr) {
    experiment.outcome = std::move(outcome);
  } else if (after != nullptr &&
             after->timing->others.value_or(0) <= before->timing->others.value_or(0)) {
    after->compiler = before->compiler;  // of the first compilation
    experiment.outcome = std::move(outcome);
  }
}

bool is_disturbed(const Experiment* experiment) {
  const Counted* timed = find_times(*experiment);
  return timed != nullptr && find_disturbance(*timed->timing).has_value();
}

// True if the process ended while the last snippet ran, and not for lack of memory, which eager
// took, too.
bool is_own_fault(const wire::Message& reply) {
  const bool was_full = failure_kind_from(reply.get("kind")) == FailureKind::kOutOfMemory;
  return reply.get("snippet") == "1" && !was_full;
}

void note_files(const wire::Message& reply, Experiment& experiment) {
  if (reply.fields.contains("files")) experiment.files = reply.get("files");
}

// Returns the files that Python imported, without their hashes; in C++ the compiler knows what was
// included. They are not known before the setup has ended.
std::optional<std::map<std::string, std::string>> list_imports(const Experiment& experiment) {
  std::map<std::string, std::string> inputs;
  if (experiment.variant->language != Language::kPython) return inputs;
  if (!experiment.files) return std::nullopt;
  std::istringstream lines(experiment.files.value_or(""));
  for (std::string line; std::getline(lines, line);) inputs.emplace(line, "");
  return inputs;
}

bool has_timed_out(const Experiment& experiment) {
  const auto* failure = experiment.outcome ? std::get_if<Failure>(&*experiment.outcome) : nullptr;
  return failure != nullptr && failure->kind == FailureKind::kTimedOut;
}

std::vector<wire::Message> split_replies(const wire::Message& all, std::size_t count) {
  std::vector<wire::Message> replies;
  for (std::size_t i = 0; i < count; ++i) {
    const auto reply = wire::decode_line(all.get(std::to_string(i)));
    replies.push_back(reply.value_or(wire::Message{}));
  }
  return replies;
}

void add_start(std::map<std::string, double>& metrics, const wire::Message& started,
               const std::string& prefix) {
  for (const char* name : {kFirstResultTime, kReadyTime, "ready_cpu"}) {
    if (!started.fields.contains(name)) continue;
    metrics[prefix + name] = std::strtod(started.get(name).c_str(), nullptr);
  }
}

class GroupExperiment {
 public:
  GroupExperiment(const std::vector<Variant>& variants, const ExperimentCode& code,
                  NativeWorker& worker, TimerOptions options, const OnStep& on_step)
      : code_(code), worker_(worker), options_(std::move(options)), report_step_(on_step) {
    for (const Variant& variant : variants) experiments_.push_back(find_code(variant));
    eager_ = find_code(make_eager(variants.front())).code;
    is_cold_ = is_compiled(variants.front().backend);
  }

  std::vector<Measurement> run() {
    Experiments working;
    for (Experiment& experiment : experiments_) {
      if (!is_cold_ && !experiment.outcome) start(experiment);
      if (!experiment.outcome) working.push_back(&experiment);
      if (is_eager(experiment) && has_timed_out(experiment)) eager_ = nullptr;
    }
    if (!working.empty()) time(working, eager_ != nullptr);
    std::erase_if(working, [](const Experiment* experiment) { return !find_times(*experiment); });
    if (std::ranges::any_of(working, is_disturbed)) time(working, eager_ != nullptr);
    if (is_cold_) time_warm_start(experiments_.front());
    std::vector<Measurement> measurements;
    for (Experiment& experiment : experiments_) measurements.push_back(complete(experiment));
    return measurements;
  }

 private:
  Experiment find_code(const Variant& variant) const {
    Experiment experiment{.variant = &variant};
    const auto& [units, failures] = code_.to_time;
    if (auto failed = failures.find(variant.key); failed != failures.end()) {
      experiment.outcome = failed->second;
    } else if (auto unit = units.find(variant.key); unit != units.end()) {
      experiment.code = &unit->second;
    } else {
      experiment.outcome = Failure{FailureKind::kCompileError, "it was not compiled"};
    }
    return experiment;
  }

  Outcome parse(const wire::Message& reply, const Experiment& experiment) const {
    return with_timeout_advice(parse_reply(reply, *experiment.variant), *experiment.variant);
  }

  // Times the start in a fresh process, with nothing else in it.
  void start(Experiment& experiment) {
    report_step_("starting");
    auto reply = ask_worker("start", worker_, {*experiment.code}, options_);
    if (reply) note_files(*reply, experiment);
    if (!reply) {
      experiment.outcome = worker_lost(reply.error());
    } else if (reply->verb == "started") {
      experiment.started = *std::move(reply);
    } else {
      experiment.outcome = parse(*reply, experiment);
    }
  }

  // Times these alternately, with eager if `has_eager`. Eager alone is timed beside itself, which
  // shows what chance does to a speed-up.
  void time(const Experiments& working, bool has_eager) {
    has_eager = has_eager && eager_ != nullptr;
    TimedGroup group;
    const bool adds_eager = has_eager && (working.size() == 1 || !is_eager(*working.front()));
    if (adds_eager) group.push_back(*eager_);
    for (const Experiment* experiment : working) group.push_back(*experiment->code);
    report_step_(is_cold_ && !was_started() ? "compiling and timing" : "timing");
    const auto reply = ask(group);
    const auto so_far = reply ? wire::decode_line(reply->get("so_far")) : std::nullopt;
    if (!reply) {
      for (Experiment* experiment : working) {
        take_outcome(worker_lost(reply.error()), *experiment);
      }
    } else if (reply->verb == "all" || so_far) {
      take_all(so_far ? *so_far : *reply, working, group.size(), has_eager);
      const auto verified = so_far ? *reply : wire::decode_line(reply->get("verification"));
      if (verified) working.front()->verification = judge(*verified, *working.front()->variant);
    } else if (const auto stopped = find_timed_out(*reply)) {
      take_timeout(*reply, working, group.size() - working.size(), *stopped);
    } else if (working.size() > 1) {
      for (Experiment* experiment : working) time({experiment}, has_eager);
    } else if (adds_eager && !is_own_fault(*reply)) {
      time(working, /*has_eager=*/false);
    } else {
      note_files(*reply, *working.front());
      take_outcome(parse(*reply, *working.front()), *working.front());
    }
  }

  // Fails the experiment that reached its limit: that is never repeated. If it was the eager beside
  // a single experiment, fails this one; else times the others without it. `first`: the number of
  // the first of these in the process.
  void take_timeout(const wire::Message& reply, const Experiments& working, std::size_t first,
                    std::size_t stopped) {
    stopped = std::min(stopped, first + working.size() - 1);  // a snippet can write what it likes
    const bool is_beside = stopped < first;
    if (is_beside || is_eager(*working[stopped - first])) eager_ = nullptr;
    for (std::size_t i = 0; i < working.size(); ++i) {
      if (working.size() > 1 && first + i != stopped) {
        time({working[i]}, /*has_eager=*/true);
        continue;
      }
      wire::Message failure = reply;
      std::string& message = failure.fields["message"];
      if (is_beside) message = "eager, which is timed beside it, was " + message;
      note_files(reply, *working[i]);
      take_outcome(parse(failure, *working[i]), *working[i]);
    }
  }

  tl::expected<wire::Message, std::string> ask(const TimedGroup& group) {
    if (is_cold_ && !was_started()) {
      auto folder = PrivateFolder::make();
      if (!folder) return tl::unexpected(to_string(folder.error()));
      cache_ = *std::move(folder);
      options_.compiler.cache = cache_->path();
    }
    auto request = make_timing_request("experiment", group, options_);
    auto units = units_of(group);
    if (is_cold_) request.fields["cold"] = "1";
    if (is_cold_ && !was_started()) {
      add_verification(request, units, *experiments_.front().variant, code_.to_verify);
    }
    return worker_.ask(units, request, sum_timeouts(group, options_));
  }

  bool was_started() const { return experiments_.front().started.verb == "started"; }

  // Takes the replies about `count` snippets, of which the first is eager if `has_eager`, and the
  // last are these.
  void take_all(const wire::Message& all, const Experiments& working, std::size_t count,
                bool has_eager) {
    std::vector<wire::Message> replies = split_replies(all, count);
    const std::size_t first = count - working.size();
    for (std::size_t i = 0; i < working.size(); ++i) {
      wire::Message& timed = replies[first + i];
      const bool is_beside = has_eager && first + i != 0;
      if (is_beside && timed.verb == "experimented") timed.fields["eager"] = replies[0].get(kWall);
      if (count > 1 && may_work_alone(timed, *working[i]->variant)) {
        time({working[i]}, /*has_eager=*/false);
      } else {
        take(timed, *working[i]);
      }
    }
  }

  void take(const wire::Message& timed, Experiment& experiment) const {
    note_files(timed, experiment);
    if (is_cold_ && timed.fields.contains(kReadyTime)) {
      wire::Message& start = experiment.started.verb.empty() ? experiment.started : experiment.warm;
      start = {"started", timed.fields};
    }
    take_outcome(parse(timed, experiment), experiment);
  }

  void time_warm_start(Experiment& experiment) {
    if (!find_times(experiment) || !options_.config.wants_warm_compile) return;
    if (!experiment.warm.verb.empty()) return;  // the times were measured once more
    report_step_("compiling again");
    auto reply = ask_worker("start", worker_, {*experiment.code}, options_);
    if (reply && reply->verb == "started") experiment.warm = *std::move(reply);
  }

  Measurement complete(Experiment& experiment) const {
    Measurement result{*experiment.variant, *std::move(experiment.outcome), 0,
                       std::move(experiment.verification), list_imports(experiment)};
    if (auto* timed = std::get_if<Counted>(&result.outcome)) {
      add_start(timed->metrics, experiment.started, "");
      // A repeated measurement, too, compiled with a filled cache.
      if (options_.config.wants_warm_compile) add_start(timed->metrics, experiment.warm, "warm_");
    }
    if (is_candidate(result.variant) && !result.verification) verify_apart(result);
    return result;
  }

  void verify_apart(Measurement& result) const {
    if (std::holds_alternative<Skipped>(result.outcome)) return;
    const auto* failure = std::get_if<Failure>(&result.outcome);
    if (failure != nullptr && failure->kind == FailureKind::kTimedOut) {
      result.verification = Verification{VerificationCode::kVerifierDidntRun, failure->message};
      return;
    }
    report_step_("verifying");
    TimerOptions options = options_;
    options.compiler = {};
    auto verification = verify(result.variant, code_.to_verify, worker_, options);
    result.verification = verification.value_or(Verification{});
    if (!verification) {
      result.outcome = worker_lost("while it was verified: " + verification.error());
    }
  }

  const ExperimentCode& code_;
  NativeWorker& worker_;
  TimerOptions options_;
  const OnStep& report_step_;
  std::vector<Experiment> experiments_;
  const CompiledVariant* eager_ = nullptr;  // null: it does not compile
  bool is_cold_ = false;                    // its compilation is timed in the process of the times
  std::optional<PrivateFolder> cache_;      // for the compiler of this experiment alone
};

}  // namespace

std::vector<Measurement> measure_group(const std::vector<Variant>& variants,
                                       const ExperimentCode& code, NativeWorker& worker,
                                       const TimerOptions& options, const OnStep& on_step) {
  return GroupExperiment(variants, code, worker, options, on_step).run();
}

}  // namespace instr
