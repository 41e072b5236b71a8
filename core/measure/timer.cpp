#include "core/measure/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/stopwatch.h"
#include "core/measure/failure_text.h"
#include "core/measure/loaded_libraries.h"
#include "core/measure/parse_reply.h"
#include "worker/native/event_counter.h"
#include "worker/wire.h"

namespace instr {

namespace {

constexpr int kMaxTimedStarts = 5;  // of a variant, in fresh processes

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
    Part left;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!reply) {
        outcomes_[part[i]] = Failure{FailureKind::kWorkerLost, reply.error()};
      } else if (!is_whole) {
        take(part[i], *reply, drops_first);
      } else {
        const auto line = wire::decode_line(reply->get(std::to_string(i)));
        const auto timed = line.value_or(wire::Message{});
        if (part.size() > 1 && may_work_alone(timed, group_[part[i]].variant)) {
          repeat_part({part[i]}, options, drops_first);
          continue;
        }
        take(part[i], timed, drops_first);
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
      outcomes_[place] = Failure{FailureKind::kWorkerLost, reply.error()};
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
    }
  }

  Outcome parse_in_time(const wire::Message& reply, std::size_t place) const {
    return with_timeout_advice(
        with_files(parse_reply(reply, group_[place].variant), loaded_files_in(reply.get("files"))),
        group_[place].variant);
  }

  const TimedSide* side_;
  TimedGroup group_;
  std::vector<Outcome> outcomes_;  // the timings so far, or the failure
  std::vector<Part> parts_;        // without variants that have failed
  double seconds_ = 0;
};

// Groups the variants of all sides that differ only in their backend.
std::vector<std::vector<GroupTimer>> make_timers(const std::vector<TimedSide>& sides) {
  using Identity = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                              Autograd, int, std::string>;
  std::map<Identity, std::size_t> known;
  std::vector<std::vector<TimedGroup>> all;  // by identity and side
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

}  // namespace instr
