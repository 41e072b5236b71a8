#include "core/timer.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/measure.h"
#include "core/private_folder.h"
#include "core/worker_client.h"
#include "core/zygote_pool.h"

namespace instr {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kStartTimeout{2};

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
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "";
  std::string cores;
  for (int core = CPU_SETSIZE - 1; core >= 0 && threads > 0; --core) {
    if (!CPU_ISSET(core, &set)) continue;
    cores += fmt::format("{}{}", cores.empty() ? "" : " ", core);
    --threads;
  }
  return cores;
}

double timeout_of(const Group& group, double usual) {
  double sum = 0;
  for (const CompiledVariant& one : group) sum += one.variant.timeout.value_or(usual);
  return sum;
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
           {"iterations", std::to_string(variant.iterations.value_or(0))},
           {"cores", cores_for(variant.threads)},
           {"memory_limit", std::to_string(options.memory_limit)},
           {"timeout_ms", fmt::format("{:.0f}", timeout_of(group, options.timeout_s) * 1000)}}};
}

}  // namespace

struct Timer::State {
  State(TimerOptions given, PrivateFolder where)
      : options(std::move(given)), folder(std::move(where)) {}

  Expected<void> start();
  void time_group(const Group& group, const OnStart& on_start, const OnDone& on_done);
  std::vector<Outcome> outcomes_of(const Group& group);
  tl::expected<wire::Message, std::string> ask(const char* verb, const Group& group);
  void add_starts(const CompiledVariant& one, Outcome& outcome);

  const TimerOptions options;
  const PrivateFolder folder;
  std::shared_ptr<Zygote> worker;
  wire::Message hello;
};

Expected<void> Timer::State::start() {
  auto started = Zygote::start({.worker = options.worker, .work_dir = folder.path(),
                                .is_native = true});
  if (!started) return tl::unexpected(started.error());
  auto said = (*started)->await_hello(kStartTimeout).and_then(check_hello);
  if (!said) return tl::unexpected(said.error());
  worker = std::move(*started);
  hello = *std::move(said);
  return {};
}

// The worker's answer for the whole group; or what was lost.
tl::expected<wire::Message, std::string> Timer::State::ask(const char* verb, const Group& group) {
  auto host = Host::fork(worker);
  if (!host) return tl::unexpected("the worker was lost: " + std::string(to_string(host.error())));
  std::set<std::filesystem::path> units;
  for (const CompiledVariant& one : group) units.insert(one.unit);
  for (const auto& unit : units) {
    auto loaded = (*host)->request(load_request(options.worker, unit), kStartTimeout);
    if (!loaded) return tl::unexpected(std::string("loading the unit ended the worker"));
    if (loaded->verb != "loaded") return *std::move(loaded);
  }
  auto limit = std::chrono::milliseconds(
      static_cast<std::int64_t>(timeout_of(group, options.timeout_s) * 1000));
  auto reply = (*host)->request(request_for(verb, group, options), limit + kStartTimeout);
  if (!reply) return tl::unexpected("the worker was lost: " + std::string(to_string(reply.error())));
  return *std::move(reply);
}

// Of each variant; where something ended them all, of each on its own.
std::vector<Outcome> Timer::State::outcomes_of(const Group& group) {
  auto reply = ask("time", group);
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
  for (const CompiledVariant& one : group) outcomes.push_back(outcomes_of({one}).front());
  return outcomes;
}

// Each time in a process that has run nothing yet. One that does not start says so here, too.
void Timer::State::add_starts(const CompiledVariant& one, Outcome& outcome) {
  auto* timed = std::get_if<Counted>(&outcome);
  for (int i = 0; i != kStarts && timed != nullptr; ++i) {
    auto reply = ask("start", {one});
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

void Timer::State::time_group(const Group& group, const OnStart& on_start, const OnDone& on_done) {
  for (const CompiledVariant& one : group) on_start(one.variant.key);
  auto begin = Clock::now();
  auto outcomes = outcomes_of(group);
  for (std::size_t i = 0; i < group.size() && options.wants_start; ++i) {
    add_starts(group[i], outcomes[i]);
  }
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (std::size_t i = 0; i < group.size(); ++i) {
    on_done({group[i].variant, std::move(outcomes[i]), seconds / static_cast<double>(group.size())});
  }
}

Timer::Timer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Timer::~Timer() = default;

Expected<std::unique_ptr<Timer>> Timer::start(TimerOptions options) {
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  auto state = std::make_unique<State>(std::move(options), std::move(*folder));
  if (auto started = state->start(); !started) return tl::unexpected(started.error());
  return std::unique_ptr<Timer>(new Timer(std::move(state)));
}

const wire::Message& Timer::hello() const { return state_->hello; }

bool Timer::time(std::vector<CompiledVariant> variants, const OnStart& on_start,
                 const OnDone& on_done, std::stop_token stop) {
  std::stop_callback end(stop, [this] { state_->worker->kill(); });
  for (const Group& group : groups_of(std::move(variants))) {
    if (stop.stop_requested()) return false;
    state_->time_group(group, on_start, [&](Measurement one) {
      if (!stop.stop_requested()) on_done(std::move(one));
    });
  }
  return !stop.stop_requested();
}

}  // namespace instr
