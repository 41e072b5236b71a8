#include "core/measure/timer.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/base/phase.h"
#include "core/base/private_folder.h"
#include "core/measure/failure_text.h"
#include "core/measure/loaded_files.h"
#include "core/measure/parse_reply.h"
#include "core/measure/verifier.h"
#include "core/results/significance.h"
#include "worker/native/event_counter.h"
#include "worker/wire.h"

namespace instr {

namespace {

constexpr int kMaxTimedStarts = 5;  // starts of a variant, in fresh processes

void append(std::vector<double>& to, const std::vector<double>& more, bool drops_first) {
  to.insert(to.end(), more.begin() + (drops_first && !more.empty() ? 1 : 0), more.end());
}

// Averages the cores that other processes used, by the number of repetitions.
std::optional<double> mean_others(const Timing& before, const Timing& more) {
  if (!more.others || before.of(kWall).empty()) return more.others;
  const auto first = static_cast<double>(before.of(kWall).size());
  const auto second = static_cast<double>(more.of(kWall).size());
  return (before.others.value_or(0) * first + *more.others * second) / (first + second);
}

// Returns the reply about each of the snippets that ran in one process.
std::vector<wire::Message> split_replies(const wire::Message& all, std::size_t count) {
  std::vector<wire::Message> replies;
  for (std::size_t i = 0; i < count; ++i) {
    const auto reply = wire::decode_line(all.get(std::to_string(i)));
    replies.push_back(reply.value_or(wire::Message{}));
  }
  return replies;
}

Failure worker_lost(const std::string& how) { return {FailureKind::kWorkerLost, how}; }

// Times the group of a side.
class GroupTimer {
 public:
  GroupTimer(const TimedSide& side, TimedGroup group)
      : side_(&side), group_(std::move(group)), outcomes_(group_.size()), parts_(1) {
    for (std::size_t i = 0; i < group_.size(); ++i) parts_[0].push_back(i);
  }

  Language language() const { return group_.front().variant.language; }
  void begin() const {
    for (const auto& compiled : group_) side_->events.on_start(compiled.variant.key);
  }

  // Times each variant again. Alternating with another side takes a fresh process each time,
  // in which Google Benchmark warms up, unless the iterations are given: then the first repetition
  // is the warm-up.
  void repeat(int repetitions, bool in_turns) {
    const Stopwatch watch;
    TimerOptions options = side_->options;
    bool drops_first = in_turns && fixed_iterations(group_, options) != 0;
    options.config.repetitions = repetitions + (drops_first ? 1 : 0);
    for (const Part& part : std::exchange(parts_, {})) repeat_part(part, options, drops_first);
    seconds_ += watch.seconds();
  }

  // Times the start of each once more, in a fresh process.
  void start() {
    const Stopwatch watch;
    for (std::size_t place = 0; place < group_.size(); ++place) {
      auto* timed = std::get_if<Counted>(&outcomes_[place]);
      if (timed != nullptr) start(place, *timed);
    }
    seconds_ += watch.seconds();
  }

  void report() {
    if (side_->options.config.wants_relative && parts_.size() == 1) add_relative_times();
    for (std::size_t i = 0; i < group_.size(); ++i) {
      side_->events.on_done({group_[i].variant, std::move(outcomes_[i]),
                             seconds_ / static_cast<double>(group_.size())});
    }
  }

 private:
  // Positions in the group, of the variants timed in one process.
  using Part = std::vector<std::size_t>;

  // If the process of several variants ended, each runs on its own from then on, except for the one
  // that reached its time limit; so does one that may have failed because of the others.
  void repeat_part(const Part& part, const TimerOptions& options, bool drops_first) {
    TimedGroup requested;
    for (std::size_t place : part) requested.push_back(group_[place]);
    auto reply = ask_worker("time", side_->worker, requested, options);
    bool is_whole = reply && reply->verb == "all";
    if (!is_whole && part.size() > 1) {
      const auto timed_out = reply ? find_timed_out(*reply) : std::nullopt;
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (i == timed_out) {
          take(part[i], *reply, drops_first);
        } else {
          repeat_part({part[i]}, options, drops_first);
        }
      }
      return;
    }
    const auto replies =
        is_whole ? split_replies(*reply, part.size()) : std::vector<wire::Message>();
    Part left;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!reply) {
        outcomes_[part[i]] = worker_lost(reply.error());
      } else if (!is_whole) {
        take(part[i], *reply, drops_first);
      } else if (part.size() > 1 && may_work_alone(replies[i], group_[part[i]].variant)) {
        repeat_part({part[i]}, options, drops_first);
        continue;
      } else {
        take(part[i], replies[i], drops_first);
      }
      if (std::holds_alternative<Counted>(outcomes_[part[i]])) left.push_back(part[i]);
    }
    if (!left.empty()) parts_.push_back(std::move(left));
  }

  void take(std::size_t place, const wire::Message& reply, bool drops_first) {
    Outcome outcome = parse_in_time(reply, place);
    auto* more = std::get_if<Counted>(&outcome);
    if (more == nullptr || !more->timing) {
      outcomes_[place] = std::move(outcome);
      return;
    }
    Timing taken = std::exchange(*more->timing, {});
    Timing& all = *more->timing;
    if (auto& before = std::get<Counted>(outcomes_[place]).timing) all = *std::move(before);
    all.others = mean_others(all, taken);
    for (const auto& [metric, values] : taken.values)
      append(all.values[metric], values, drops_first);
    if (all.iterations == 0) all.iterations = taken.iterations;
    all.device_peak_bytes = std::max(all.device_peak_bytes, taken.device_peak_bytes);
    more->iterations = all.iterations;
    add_times(more->metrics, all);
    outcomes_[place] = std::move(outcome);
  }

  // Variants that were timed in one process shared their rounds with eager.
  void add_relative_times() {
    const Timing* eager = nullptr;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const auto* timed = std::get_if<Counted>(&outcomes_[i]);
      const bool is_eager = group_[i].variant.backend == Backend::kEager;
      if (is_eager && timed != nullptr) eager = &*timed->timing;
    }
    if (eager == nullptr) return;
    for (Outcome& outcome : outcomes_) {
      auto* timed = std::get_if<Counted>(&outcome);
      if (timed == nullptr || &*timed->timing == eager) continue;
      add_relative(*timed->timing, eager->of(kWall));
      add_times(timed->metrics, *timed->timing);
    }
  }

  void start(std::size_t place, Counted& timed) {
    auto reply = ask_worker("start", side_->worker, {group_[place]}, side_->options);
    if (!reply) {
      outcomes_[place] = worker_lost(reply.error());
    } else if (reply->verb != "started") {
      outcomes_[place] = parse_in_time(*reply, place);
    } else {
      for (const Metric& metric : kStartMetrics) {
        if (!reply->fields.contains(metric.name)) continue;
        const double value = std::strtod(reply->get(metric.name).c_str(), nullptr);
        if (metric.statistic != Statistic::kNone) {
          timed.timing->values[metric.name].push_back(value);
        } else {
          timed.metrics[metric.name] = value;
        }
      }
      add_times(timed.metrics, *timed.timing);
      if (is_candidate(group_[place].variant)) add_compiling(*reply, timed.metrics);
    }
  }

  // Adds those of the last start.
  static void add_compiling(const wire::Message& started, std::map<std::string, double>& metrics) {
    metrics[kReadyCpu] = std::strtod(started.get(kReadyCpu).c_str(), nullptr);
    replace_ready_times(metrics);
  }

  Outcome parse_in_time(const wire::Message& reply, std::size_t place) const {
    return with_timeout_advice(
        with_files(parse_reply(reply, group_[place].variant), loaded_files_in(reply.get("files"))),
        group_[place].variant);
  }

  const TimedSide* side_;
  TimedGroup group_;
  std::vector<Outcome> outcomes_;  // the timings so far, or the failure
  std::vector<Part> parts_;        // variants that have not failed
  double seconds_ = 0;
};

// Groups the variants of all sides that differ only in their backend.
std::vector<std::vector<GroupTimer>> make_timers(const std::vector<TimedSide>& sides) {
  using Identity = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                              Autograd, int, std::string>;
  std::map<Identity, std::size_t> known;
  std::vector<std::vector<TimedGroup>> all;  // indices: identity, side
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (const CompiledVariant& compiled : sides[side].variants) {
      const Variant& v = compiled.variant;
      auto [place, is_new] =
          known.try_emplace({v.label, v.params, v.autograd, v.threads, v.device}, all.size());
      if (is_new) all.emplace_back(sides.size());
      all[place->second][side].push_back(compiled);
    }
  }
  std::vector<std::vector<GroupTimer>> timers;
  for (auto& groups : all) {
    auto& together = timers.emplace_back();
    for (std::size_t side = 0; side < sides.size(); ++side) {
      if (!groups[side].empty()) together.emplace_back(sides[side], std::move(groups[side]));
    }
  }
  return timers;
}

// Returns the number of rounds. Two builds alternate after each repetition; twins in two languages
// only once, since a process may have much to prepare before its first repetition.
int count_rounds(const std::vector<GroupTimer>& timers, int repetitions) {
  if (timers.size() < 2) return 1;
  std::set<Language> languages;
  for (const GroupTimer& timer : timers) languages.insert(timer.language());
  return languages.size() == timers.size() ? std::min(2, repetitions) : repetitions;
}

// Returns the repetitions in a round.
int share_of(int round, int rounds, int all) {
  return all * (round + 1) / rounds - all * round / rounds;
}

// Runs rounds of a, b, then b, a, so that neither side always comes first.
template <class Action>
void alternate(std::vector<GroupTimer>& timers, int rounds, const std::stop_token& stop,
               const Action& action) {
  for (int round = 0; round < rounds; ++round) {
    for (GroupTimer& timer : timers) {
      if (!stop.stop_requested()) action(timer, round);
    }
    std::reverse(timers.begin(), timers.end());
  }
}

// An experiment, and the worker's replies about it so far.
struct Experiment {
  const Variant* variant = nullptr;
  const CompiledVariant* code = nullptr;
  std::optional<Outcome> outcome = {};  // the repetitions' outcome, or the failure
  wire::Message started = {};           // `started`: with an empty cache of its compiler
  wire::Message warm = {};              // `started`: with the cache that the first one left
  std::optional<Verification> verification = {};
  std::optional<std::string> files = {};  // imported by now, a line each
};

using Experiments = std::vector<Experiment*>;

// The code of all experiments.
struct ExperimentCode {
  CompiledVariants to_verify;
  CompiledVariants to_time;  // includes eager of each benchmark
};

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
    after->compiler = before->compiler;  // the first compilation's report
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

void keep_files(const wire::Message& reply, Experiment& experiment) {
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

// Adds the times of a start; of a warm one, those that are needed for the time of compiling.
void add_start(std::map<std::string, double>& metrics, const wire::Message& started,
               const std::string& prefix) {
  for (const char* name : {kFirstResultTime, kReadyTime, kReadyCpu}) {
    const bool is_needed = prefix.empty() || std::string_view(name) != kFirstResultTime;
    if (!is_needed || !started.fields.contains(name)) continue;
    metrics[prefix + name] = std::strtod(started.get(name).c_str(), nullptr);
  }
}

// Adds what XLA reported until the code was ready.
void add_device(std::map<std::string, double>& metrics, const wire::Message& started) {
  const std::string prefix(kReadyPrefix);
  const auto find = [&started](const std::string& name) {
    const bool is_there = started.fields.contains(name);
    return is_there ? std::optional(std::strtod(started.get(name).c_str(), nullptr)) : std::nullopt;
  };
  for (const Metric& metric : kXlaMetrics) {
    if (const auto value = find(prefix + metric.name)) metrics[prefix + metric.name] = *value;
  }
  const auto waited = find(prefix + kXlaWait);
  const auto ready = metrics.find(kReadyTime);
  if (waited && ready != metrics.end()) {
    metrics[prefix + kTraceTime] = std::max(0.0, ready->second - *waited);
  }
}

constexpr const char* kCoverageLog = "coverage";  // has instr_compiler.py mark the graphs
constexpr std::size_t kMaxOperators = 10;         // kept; --dump=profile has all

// Keeps the operators that took the most time if they are requested, and those that the compiler
// left to LibTorch.
void keep_operators(Counted& timed, bool is_requested) {
  std::vector<OperatorTime> kept;
  const std::size_t max = is_requested ? kMaxOperators : 0;
  for (std::size_t i = 0; i < timed.operators.size(); ++i) {
    const bool is_unlowered =
        timed.compiler && timed.compiler->unlowered.contains(timed.operators[i].name);
    if (i < max || is_unlowered) kept.push_back(std::move(timed.operators[i]));
  }
  timed.operators = std::move(kept);
}

// Measures variants of one benchmark beside eager, of which a compiler of whole functions is alone.
// If their process fails, each is measured in another; if that fails without being the variant's
// own fault, without eager beside it. A variant that reaches its time limit fails at once.
class GroupExperiment {
 public:
  GroupExperiment(const std::vector<Variant>& variants, const ExperimentCode& code,
                  NativeWorker& worker, TimerOptions options,
                  const std::function<void(const std::string& what)>& on_step)
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
    if (reply) keep_files(*reply, experiment);
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
      keep_files(*reply, *working.front());
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
      keep_files(reply, *working[i]);
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
    keep_files(timed, experiment);
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

  // Runs the same function once more in another process, in which eager runs each graph.
  void measure_coverage(const Experiment& experiment, Counted& timed) const {
    if (!is_of_torch_compile(experiment.variant->backend)) return;
    report_step_("measuring the coverage");
    TimerOptions options = options_;
    options.compiler = {.cache = {}, .logs = kCoverageLog};
    options.config.repetitions = 1;
    const auto reply = ask_worker("inspect", worker_, {*experiment.code}, options);
    if (!reply || reply->verb != "inspected") return;
    const auto coverage = find_coverage(parse_calls(reply->get("events")));
    if (!coverage) return;
    timed.metrics[kCoverageOperators] = coverage->operators;
    timed.metrics[kCoverageTime] = coverage->time;
  }

  Measurement complete(Experiment& experiment) const {
    Measurement result{*experiment.variant, *std::move(experiment.outcome), 0,
                       std::move(experiment.verification), list_imports(experiment)};
    if (auto* timed = std::get_if<Counted>(&result.outcome)) {
      add_start(timed->metrics, experiment.started, "");
      add_device(timed->metrics, experiment.started);
      // A repeated measurement, too, compiled with a filled cache.
      if (options_.config.wants_warm_compile) add_start(timed->metrics, experiment.warm, "warm_");
      if (is_candidate(result.variant)) {
        add_relative(*timed->timing, timed->timing->eager);
        add_times(timed->metrics, *timed->timing);
        replace_ready_times(timed->metrics);
      }
      timed->metrics.erase(kReadyCpu);
      if (options_.config.wants_coverage) measure_coverage(experiment, *timed);
      keep_operators(*timed, options_.config.wants_operators);
      if (timed->compiler && !options_.config.keeps_counters) timed->compiler->counters.clear();
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
  const std::function<void(const std::string& what)>& report_step_;
  std::vector<Experiment> experiments_;
  const CompiledVariant* eager_ = nullptr;  // null: it does not compile
  bool is_cold_ = false;  // true: the timed process compiles, and the compilation is timed
  std::optional<PrivateFolder> cache_;  // a cache for this experiment's compiler alone
};

// Puts together what is timed together: the variants of a benchmark, except that each on a compiler
// of whole functions is alone.
std::vector<std::vector<Variant>> make_groups(const std::vector<Variant>& variants) {
  std::vector<std::vector<Variant>> groups;
  std::map<std::string, std::size_t> places;  // eager's key -> index into `groups`
  for (const Variant& variant : variants) {
    if (is_compiled(variant.backend)) {
      groups.push_back({variant});
      continue;
    }
    const auto [place, is_new] = places.try_emplace(make_eager(variant).key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(variant);
  }
  return groups;
}

// Adds what the compiler read, and the hashes of what was imported.
void complete_files(Measurement& measurement, const CompiledVariants& compiled,
                    const NativeLanguage& language, InputHashes& hashes) {
  if (!measurement.inputs) return;
  for (auto& [file, hash] : *measurement.inputs) {
    hash = hashes.of_unchanged(file, language.worker.started());
  }
  const auto& package = measurement.variant.package;
  if (package && measurement.variant.backend == Backend::kAoti) {
    (*measurement.inputs)[package->code] =
        hashes.of_unchanged(package->code, language.worker.started());
  }
  const auto unit = compiled.units.find(measurement.variant.key);
  if (unit != compiled.units.end()) {
    measurement.inputs->merge(language.support.list_includes(unit->second));
  }
}

}  // namespace

Expected<void> check_events(const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics) {
    const auto problem = EventCounter(*find_event(metric)).problem();
    if (problem) return fail(metric + " is unsupported here: " + problem->what, problem->advice);
  }
  return {};
}

bool time_all(std::vector<TimedSide> sides, std::stop_token stop) {
  std::stop_callback end(stop, [&sides] {
    for (const TimedSide& side : sides) side.worker.kill();
  });
  for (auto& timers : make_timers(sides)) {
    if (stop.stop_requested()) return false;
    const MeasureConfig& config = sides.front().options.config;
    bool has_turns = timers.size() > 1;
    const int rounds = count_rounds(timers, config.repetitions);
    for (const GroupTimer& timer : timers) timer.begin();
    alternate(timers, rounds, stop, [&](GroupTimer& timer, int round) {
      timer.repeat(share_of(round, rounds, config.repetitions), has_turns);
    });
    alternate(timers, config.wants_start ? std::min(kMaxTimedStarts, config.repetitions) : 0, stop,
              [](GroupTimer& timer, int) { timer.start(); });
    if (stop.stop_requested()) return false;
    for (GroupTimer& timer : timers) timer.report();
  }
  return !stop.stop_requested();
}

Expected<bool> time_beside_eager(const std::vector<Variant>& variants,
                                 const NativeLanguage& language, const TimerOptions& options,
                                 const MeasureEvents& events, std::stop_token stop) {
  std::vector<Variant> candidates;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(candidates), is_candidate);
  auto to_verify = compile_with_eager(candidates, Purpose::kVerify, language, stop);
  if (stop.stop_requested()) return false;
  TRY(to_verify);
  auto to_time = compile_with_eager(variants, Purpose::kMeasure, language, stop);
  if (stop.stop_requested()) return false;
  TRY(to_time);
  InputHashes hashes;
  const ExperimentCode code{*std::move(to_verify), *std::move(to_time)};
  std::stop_callback end(stop, [&language] { language.worker.kill(); });
  for (const std::vector<Variant>& group : make_groups(variants)) {
    if (stop.stop_requested()) return false;
    for (const Variant& variant : group) events.on_start(variant.key);
    const Stopwatch watch;
    std::vector<Measurement> measured =
        GroupExperiment(group, code, language.worker, options, events.on_step).run();
    if (stop.stop_requested()) return false;
    for (Measurement& measurement : measured) {
      complete_files(measurement, code.to_time, language, hashes);
      measurement.seconds = watch.seconds() / static_cast<double>(group.size());
      events.on_done(std::move(measurement));
    }
  }
  return !stop.stop_requested();
}

}  // namespace instr
