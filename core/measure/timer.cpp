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
#include "core/measure/measure.h"
#include "core/results/experiment.h"
#include "worker/wire.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

// What is compared with each other: all but the runtime is the same.
using Group = std::vector<CompiledVariant>;

std::vector<Group> groups_of(std::vector<CompiledVariant> variants) {
  using Identity = std::tuple<std::string, std::vector<std::pair<std::string, std::string>>,
                              Autograd, int, std::string>;
  std::map<Identity, std::size_t> known;
  std::vector<Group> groups;
  for (CompiledVariant& one : variants) {
    const Variant& v = one.variant;
    auto [found, is_new] =
        known.try_emplace({v.label, v.params, v.autograd, v.threads, v.device}, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(std::move(one));
  }
  return groups;
}

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

// Fresh processes that are asked how long a variant takes to begin.
constexpr int kStarts = 5;

wire::Message request_for(const char* verb, const Group& group, const TimerOptions& options) {
  const Variant& variant = group.front().variant;
  std::string symbols;
  for (const CompiledVariant& one : group) symbols += (symbols.empty() ? "" : " ") + one.symbol;
  return {
      verb,
      {{"symbols", symbols},
       {"device", variant.device},
       {"threads", std::to_string(variant.threads)},
       {"repetitions", std::to_string(options.repetitions)},
       {"min_time", fmt::format("{}", options.min_time_s)},
       {"iterations", std::to_string(options.iterations.value_or(variant.iterations.value_or(0)))},
       {"dtype", data_type_of(variant)},
       {"cores", cores_for(variant.threads)},
       {"memory_limit", std::to_string(options.memory_limit)},
       {"timeout_ms", std::to_string(limit_of(group, options.timeout_s).count())}}};
}

// Of each variant; where something ended them all, of each on its own.
std::vector<Outcome> outcomes_of(NativeWorker& worker, const Group& group,
                                 const TimerOptions& options) {
  auto reply = ask_worker("time", worker, group, options);
  std::vector<Outcome> outcomes;
  if (reply && reply->verb == "all") {
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::string line = reply->get(std::to_string(i));
      if (!line.empty() && line.back() == '\n') line.pop_back();
      auto one = wire::decode(line);
      outcomes.push_back(outcome_of(one.value_or(wire::Message{}), group[i].variant, nullptr));
    }
    return outcomes;
  }
  if (group.size() == 1) {
    if (reply) return {outcome_of(*reply, group.front().variant, nullptr)};
    return {Failure{FailureKind::kWorkerLost, reply.error()}};
  }
  for (const CompiledVariant& one : group) {
    outcomes.push_back(outcomes_of(worker, {one}, options).front());
  }
  return outcomes;
}

// Each time in a process that has run nothing yet. One that does not start says so here, too.
void add_starts(NativeWorker& worker, const CompiledVariant& one, const TimerOptions& options,
                Outcome& outcome) {
  auto* timed = std::get_if<Counted>(&outcome);
  for (int i = 0; i != kStarts && timed != nullptr; ++i) {
    auto reply = ask_worker("start", worker, {one}, options);
    if (!reply) {
      outcome = Failure{FailureKind::kWorkerLost, reply.error()};
    } else if (reply->verb != "started") {
      outcome = outcome_of(*reply, one.variant, nullptr);
    } else {
      timed->timing->first_result.push_back(std::strtod(reply->get("first_result").c_str(), nullptr));
      timed->timing->ready.push_back(std::strtod(reply->get("ready").c_str(), nullptr));
    }
    timed = std::get_if<Counted>(&outcome);
  }
  if (timed != nullptr) add_times(timed->metrics, *timed->timing);
}

}  // namespace

tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const std::vector<CompiledVariant>& group,
                                                    const TimerOptions& options) {
  std::set<std::filesystem::path> units;
  for (const CompiledVariant& one : group) units.insert(one.unit);
  return worker.ask(units, request_for(verb, group, options), limit_of(group, options.timeout_s));
}

bool time_all(std::vector<CompiledVariant> variants, NativeWorker& worker,
              const TimerOptions& options, const NativeEvents& events, std::stop_token stop) {
  std::stop_callback end(stop, [&worker] { worker.kill(); });
  for (const Group& group : groups_of(std::move(variants))) {
    if (stop.stop_requested()) return false;
    for (const CompiledVariant& one : group) events.on_start(one.variant.key);
    auto begin = Clock::now();
    auto outcomes = outcomes_of(worker, group, options);
    for (std::size_t i = 0; i < group.size() && options.wants_start; ++i) {
      add_starts(worker, group[i], options, outcomes[i]);
    }
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (stop.stop_requested()) return false;
    for (std::size_t i = 0; i < group.size(); ++i) {
      events.on_done({group[i].variant, std::move(outcomes[i]),
                      seconds / static_cast<double>(group.size())});
    }
  }
  return !stop.stop_requested();
}

}  // namespace instr
