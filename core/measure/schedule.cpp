#include "core/measure/schedule.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "core/measure/schedule_plan.h"
#include "core/measure/schedule_state.h"
#include "core/measure/warm_client.h"

namespace instr {

namespace {

constexpr std::chrono::seconds kCleanUpTime{2};

}  // namespace

WorkerOptions worker_options(const ScheduleOptions& options, const fs::path& folder) {
  return {.valgrind = options.valgrind,
          .work_dir = folder,
          .simulation = options.simulation,
          .call_paths = options.call_paths,
          .churn = options.churn};
}

StartSource zygote_source(const ScheduleOptions& options, const fs::path& folder) {
  const WorkerOptions worker = worker_options(options, folder);
  if (options.is_warm) return warm_workers(worker, options.find_worker, options.note);
  return own_roots(worker, options.find_worker);
}

Scheduler::State::State(ScheduleOptions given, PrivateFolder where, MeasureEvents reported)
    : options(std::move(given)),
      folder(std::move(where)),
      measurer(options),
      events(std::move(reported)),
      zygotes(zygote_source(options, folder.path()), [this] {
        { std::lock_guard lock(mutex); }
        changed.notify_all();
      }) {
  for (int i = 0; i < std::max(options.jobs, 1); ++i) threads.emplace_back([this] { serve(); });
}

Scheduler::State::~State() { kill(); }

void Scheduler::State::kill() {
  {
    std::unique_lock lock(mutex);
    stopping = true;
    changed.notify_all();
    // Hosts first: they clean up after snippets. Those that take too long are killed with their
    // zygote.
    for (WorkerProcess* host : live_hosts) host->hang_up();
    for (Root* root : live_roots) root->kill();
    changed.wait_for(lock, kCleanUpTime, [this] { return busy == 0; });
    for (WorkerProcess* host : live_hosts) host->abort();
  }
  zygotes.kill();
  threads.clear();  // joins
  std::lock_guard lock(mutex);
  live_hosts.clear();
  units.clear();
  waiting.clear();
}

void Scheduler::State::add(std::vector<CompiledVariant> variants) {
  if (!options.fresh_process) {
    for (const auto& each : variants) zygotes.need(choose_zygote(each.variant));
  }
  {
    std::lock_guard lock(mutex);
    if (stopping) return;
    for (auto& each : variants) {
      const double seconds = options.expected ? options.expected(each.variant) : 1;
      enqueue({std::move(each), seconds, added++, 0});
      ++outstanding;
    }
  }
  changed.notify_all();
}

void Scheduler::State::enqueue(Task task) {
  seconds_left += task.seconds;
  auto& queue = waiting[{choose_zygote(task.compiled.variant), task.compiled.unit}];
  const auto place =
      std::upper_bound(queue.begin(), queue.end(), task, [](const Task& left, const Task& right) {
        return std::tuple(-left.seconds, left.order) < std::tuple(-right.seconds, right.order);
      });
  queue.insert(place, std::move(task));
}

bool Scheduler::State::wait(std::stop_token stop) {
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [this] { return outstanding == 0 || stopping; });
    if (outstanding == 0) return true;
  }
  kill();
  return false;
}

std::optional<Groups::iterator> Scheduler::State::next() {
  std::vector<Candidate> candidates;
  for (const auto& [key, tasks] : waiting) {
    Candidate candidate;
    candidate.seconds = tasks.front().seconds;
    candidate.order = tasks.front().order;
    if (!options.fresh_process) {
      // A zygote that failed to start counts as ready: its error is reported.
      auto state = zygotes.state(key.zygote);
      candidate.zygote_ready =
          state == ZygotePool::State::kReady || state == ZygotePool::State::kFailed;
      if (auto unit = units.find(key); unit != units.end()) {
        candidate.has_idle_host = !unit->second.idle.empty();
        candidate.busy_hosts = unit->second.busy;
      }
    }
    candidates.push_back(candidate);
  }
  auto chosen = choose(candidates, seconds_left / std::max(options.jobs, 1));
  if (!chosen) return std::nullopt;
  return std::next(waiting.begin(), static_cast<std::ptrdiff_t>(*chosen));
}

void Scheduler::State::serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    std::optional<Groups::iterator> group;
    changed.wait(lock, [&] { return stopping || (group = next()).has_value(); });
    if (stopping) return;
    serve_next(lock, *group);
  }
}

// Attempts the group's first task; the lock is released meanwhile.
void Scheduler::State::serve_next(std::unique_lock<std::mutex>& lock, Groups::iterator group) {
  const UnitKey key = group->first;
  Task task = std::move(group->second.front());
  group->second.pop_front();
  if (group->second.empty()) waiting.erase(group);
  UnitState& unit = units[key];
  std::unique_ptr<WorkerProcess> host;
  if (!unit.idle.empty()) {
    host = std::move(unit.idle.back());
    unit.idle.pop_back();
  }
  seconds_left -= task.seconds;
  ++unit.busy;
  ++busy;
  ++task.attempts;
  lock.unlock();

  Attempt result = attempt(task, key, host);

  std::vector<std::unique_ptr<WorkerProcess>> useless;
  lock.lock();
  --units[key].busy;
  --busy;
  put_back(key, std::move(host), useless);
  lock.unlock();
  changed.notify_all();
  useless.clear();
  finish(std::move(task), std::move(result));
  lock.lock();
}

// Keeps the host while its unit has variants to measure.
void Scheduler::State::put_back(const UnitKey& key, std::unique_ptr<WorkerProcess> host,
                                std::vector<std::unique_ptr<WorkerProcess>>& useless) {
  auto& idle = units[key].idle;
  if (host) idle.push_back(std::move(host));
  if (waiting.contains(key) && !stopping) return;
  for (auto& each : idle) {
    live_hosts.erase(each.get());
    useless.push_back(std::move(each));
  }
  idle.clear();
}

void Scheduler::State::drop(std::unique_ptr<WorkerProcess>& host) {
  {
    std::lock_guard lock(mutex);
    live_hosts.erase(host.get());
  }
  host.reset();
}

void Scheduler::State::finish(Task task, Attempt attempt) {
  auto* failure = std::get_if<Failure>(&attempt.outcome);
  bool retry = attempt.again ||
               (failure != nullptr && should_retry(failure->kind, task.attempts, options.retries));
  {
    std::lock_guard lock(mutex);
    // Ignores failures caused by our own kill().
    if (stopping && failure != nullptr) return;
    if (retry) {
      if (attempt.again) --task.attempts;
      enqueue(std::move(task));
    }
  }
  if (!retry) {
    std::lock_guard turn(callbacks);
    // Moved above only for a retry. NOLINTNEXTLINE(bugprone-use-after-move)
    events.on_done({std::move(task.compiled.variant), std::move(attempt.outcome), attempt.seconds});
  }
  {
    std::lock_guard lock(mutex);
    if (!retry) --outstanding;
  }
  changed.notify_all();
}

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}

Scheduler::~Scheduler() = default;

Expected<std::unique_ptr<Scheduler>> Scheduler::start(ScheduleOptions options,
                                                      MeasureEvents events) {
  if (options.keep_profiles) {
    std::error_code problem;
    fs::create_directories(*options.keep_profiles, problem);
    if (problem) {
      return fail(
          "cannot make the folder " + options.keep_profiles->string() + ": " + problem.message(),
          "name a writable one with --keep-profiles");
    }
  }
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  return std::unique_ptr<Scheduler>(new Scheduler(
      std::make_unique<State>(std::move(options), std::move(folder), std::move(events))));
}

void Scheduler::prepare(const std::vector<Variant>& variants) {
  if (state_->options.fresh_process) return;
  for (const auto& variant : variants) state_->zygotes.need(choose_zygote(variant));
}

void Scheduler::add(std::vector<CompiledVariant> variants) { state_->add(std::move(variants)); }

bool Scheduler::wait(std::stop_token stop) { return state_->wait(std::move(stop)); }

Expected<wire::Message> Scheduler::hello(std::stop_token stop) {
  return state_->zygotes.hello(std::move(stop));
}

}  // namespace instr
