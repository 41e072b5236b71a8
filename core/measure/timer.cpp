#include "core/measure/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/cores.h"
#include "core/measure/failure_text.h"
#include "core/measure/measure.h"
#include "core/results/experiment.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

// Of one side, what differs in its runtime alone.
using Group = std::vector<CompiledVariant>;

// The last cores that this process may use: the first ones are what others take.
std::string cores_for(int threads) {
  const std::vector<int> cores = usable_cores();
  const auto count = std::min<std::ptrdiff_t>(threads, std::ssize(cores));
  return fmt::format("{}", fmt::join(cores.end() - count, cores.end(), " "));
}

std::chrono::milliseconds limit_of(const Group& group, double usual) {
  double sum = 0;
  for (const CompiledVariant& one : group) sum += one.variant.timeout.value_or(usual);
  return timeout_of(sum);
}

// Of a repetition, where that is given; 0: it is not.
int iterations_of(const Group& group, const TimerOptions& options) {
  return options.iterations.value_or(group.front().variant.iterations.value_or(0));
}

// Fresh processes that are asked how long a variant takes to begin.
constexpr int kStarts = 5;

wire::Message request_for(const char* verb, const Group& group, const TimerOptions& options) {
  const Variant& variant = group.front().variant;
  std::string symbols;
  for (const CompiledVariant& one : group) symbols += (symbols.empty() ? "" : " ") + one.symbol;
  return {verb,
          {{"symbols", symbols},
           {"device", variant.device},
           {"threads", std::to_string(variant.threads)},
           {"repetitions", std::to_string(options.repetitions)},
           {"min_time", fmt::format("{}", options.min_time_s)},
           {"iterations", std::to_string(iterations_of(group, options))},
           {"dtype", data_type_of(variant)},
           {"cores", cores_for(variant.threads)},
           {"memory_limit", std::to_string(options.memory_limit)},
           {"timeout_ms", std::to_string(limit_of(group, options.timeout_s).count())}}};
}

// One side's group while it is timed.
class GroupTimer {
 public:
  GroupTimer(const TimedSide& side, Group group)
      : side_(&side), group_(std::move(group)), outcomes_(group_.size()), parts_(1) {
    for (std::size_t i = 0; i < group_.size(); ++i) parts_[0].push_back(i);
  }

  void begin() const {
    for (const CompiledVariant& one : group_) side_->events.on_start(one.variant.key);
  }
  void repeat(int repetitions, bool in_turns);
  void start();
  void tell();

 private:
  // Places in the group, of what is timed in one process.
  using Part = std::vector<std::size_t>;

  void repeat_part(const Part& part, const TimerOptions& options, bool drops_first);
  void take(std::size_t place, const wire::Message& reply, bool drops_first);
  void start_one(std::size_t place, Counted& timed);
  Outcome outcome_in_time(const wire::Message& reply, const Variant& variant) const {
    return with_timeout(outcome_of(reply, variant, nullptr), variant, side_->options.timeout_s);
  }

  const TimedSide* side_;
  Group group_;
  std::vector<Outcome> outcomes_;  // what was timed so far, or what went wrong
  std::vector<Part> parts_;        // of what has not failed
  double seconds_ = 0;
};

// Times each once more. In turns with another side that takes a fresh process each time, where
// Google Benchmark warms up unless the iterations are given: then the first repetition does that.
void GroupTimer::repeat(int repetitions, bool in_turns) {
  auto begin = Clock::now();
  TimerOptions options = side_->options;
  bool drops_first = in_turns && iterations_of(group_, options) != 0;
  options.repetitions = repetitions + (drops_first ? 1 : 0);
  for (const Part& part : std::exchange(parts_, {})) repeat_part(part, options, drops_first);
  seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
}

// Where something ended them all, each on its own from then on.
void GroupTimer::repeat_part(const Part& part, const TimerOptions& options, bool drops_first) {
  Group asked;
  for (std::size_t place : part) asked.push_back(group_[place]);
  auto reply = ask_worker("time", side_->worker, asked, options);
  bool is_whole = reply && reply->verb == "all";
  if (!is_whole && part.size() > 1) {
    for (std::size_t place : part) repeat_part({place}, options, drops_first);
    return;
  }
  Part left;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!reply) {
      outcomes_[part[i]] = Failure{FailureKind::kWorkerLost, reply.error()};
    } else if (!is_whole) {
      take(part[i], *reply, drops_first);
    } else {
      auto one = wire::decode_line(reply->get(std::to_string(i)));
      take(part[i], one.value_or(wire::Message{}), drops_first);
    }
    if (std::holds_alternative<Counted>(outcomes_[part[i]])) left.push_back(part[i]);
  }
  if (!left.empty()) parts_.push_back(std::move(left));
}

void append(std::vector<double>& to, const std::vector<double>& more, bool drops_first) {
  auto skipped =
      static_cast<std::ptrdiff_t>(drops_first ? std::min<std::size_t>(1, more.size()) : 0);
  to.insert(to.end(), more.begin() + skipped, more.end());
}

// What others used while each was taken, by how many repetitions it has.
std::optional<double> mean_of(const Timing& before, const Timing& more) {
  if (!more.others || before.wall.empty()) return more.others;
  const auto first = static_cast<double>(before.wall.size());
  const auto second = static_cast<double>(more.wall.size());
  return (before.others.value_or(0) * first + *more.others * second) / (first + second);
}

void GroupTimer::take(std::size_t place, const wire::Message& reply, bool drops_first) {
  Outcome outcome = outcome_in_time(reply, group_[place].variant);
  auto* more = std::get_if<Counted>(&outcome);
  if (more == nullptr || !more->timing) {
    outcomes_[place] = std::move(outcome);
    return;
  }
  Timing taken = std::exchange(*more->timing, {});
  Timing& all = *more->timing;
  if (auto& before = std::get<Counted>(outcomes_[place]).timing) all = *std::move(before);
  all.others = mean_of(all, taken);
  append(all.wall, taken.wall, drops_first);
  append(all.cpu, taken.cpu, drops_first);
  if (all.iterations == 0) all.iterations = taken.iterations;
  all.device_peak_bytes = std::max(all.device_peak_bytes, taken.device_peak_bytes);
  more->iterations = all.iterations;
  add_times(more->metrics, all);
  outcomes_[place] = std::move(outcome);
}

// What it takes each to begin, once more, in a process that has run nothing yet. One that does not
// start says so here, too.
void GroupTimer::start() {
  auto begin = Clock::now();
  for (std::size_t place = 0; place < group_.size(); ++place) {
    auto* timed = std::get_if<Counted>(&outcomes_[place]);
    if (timed != nullptr) start_one(place, *timed);
  }
  seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
}

void GroupTimer::start_one(std::size_t place, Counted& timed) {
  auto reply = ask_worker("start", side_->worker, {group_[place]}, side_->options);
  if (!reply) {
    outcomes_[place] = Failure{FailureKind::kWorkerLost, reply.error()};
  } else if (reply->verb != "started") {
    outcomes_[place] = outcome_in_time(*reply, group_[place].variant);
  } else {
    timed.timing->first_result.push_back(std::strtod(reply->get("first_result").c_str(), nullptr));
    timed.timing->ready.push_back(std::strtod(reply->get("ready").c_str(), nullptr));
    add_times(timed.metrics, *timed.timing);
  }
}

void GroupTimer::tell() {
  for (std::size_t i = 0; i < group_.size(); ++i) {
    side_->events.on_done({group_[i].variant, std::move(outcomes_[i]),
                           seconds_ / static_cast<double>(group_.size())});
  }
}

// What is compared with each other, of all sides: all but the runtime is the same.
std::vector<std::vector<GroupTimer>> timers_of(const std::vector<TimedSide>& sides) {
  using Identity = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                              Autograd, int, std::string>;
  std::map<Identity, std::size_t> known;
  std::vector<std::vector<Group>> found;  // of each identity one for each side
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (const CompiledVariant& one : sides[side].variants) {
      const Variant& v = one.variant;
      auto [place, is_new] =
          known.try_emplace({v.label, v.params, v.autograd, v.threads, v.device}, found.size());
      if (is_new) found.emplace_back(sides.size());
      found[place->second][side].push_back(one);
    }
  }
  std::vector<std::vector<GroupTimer>> timers;
  for (auto& groups : found) {
    auto& together = timers.emplace_back();
    for (std::size_t side = 0; side < sides.size(); ++side) {
      if (!groups[side].empty()) together.emplace_back(sides[side], std::move(groups[side]));
    }
  }
  return timers;
}

// So many rounds: a, b, then b, a, so that what comes first is no side's.
template <class Action>
void in_turns(std::vector<GroupTimer>& timers, int rounds, const std::stop_token& stop,
              const Action& action) {
  for (int round = 0; round < rounds; ++round) {
    for (GroupTimer& timer : timers) {
      if (!stop.stop_requested()) action(timer);
    }
    std::reverse(timers.begin(), timers.end());
  }
}

}  // namespace

tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const std::vector<CompiledVariant>& group,
                                                    const TimerOptions& options) {
  std::set<std::filesystem::path> units;
  for (const CompiledVariant& one : group) units.insert(one.unit);
  return worker.ask(units, request_for(verb, group, options), limit_of(group, options.timeout_s));
}

bool time_all(std::vector<TimedSide> sides, std::stop_token stop) {
  std::stop_callback end(stop, [&sides] {
    for (const TimedSide& side : sides) side.worker.kill();
  });
  for (auto& timers : timers_of(sides)) {
    if (stop.stop_requested()) return false;
    const TimerOptions& options = sides.front().options;
    bool has_turns = timers.size() > 1;
    int rounds = has_turns ? options.repetitions : 1;
    for (const GroupTimer& timer : timers) timer.begin();
    in_turns(timers, rounds, stop,
             [&](GroupTimer& timer) { timer.repeat(options.repetitions / rounds, has_turns); });
    in_turns(timers, options.wants_start ? kStarts : 0, stop,
             [](GroupTimer& timer) { timer.start(); });
    if (stop.stop_requested()) return false;
    for (GroupTimer& timer : timers) timer.tell();
  }
  return !stop.stop_requested();
}

}  // namespace instr
