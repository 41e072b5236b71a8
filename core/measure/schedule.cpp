#include "core/measure/schedule.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/base/output_file.h"
#include "core/measure/warm.h"
#include "core/measure/worker_process.h"

namespace instr {

namespace {

constexpr std::chrono::seconds kCleanUpTime{2};

// Reports what another source does.
class ReportingSource : public ZygoteSource {
 public:
  ReportingSource(std::shared_ptr<ZygoteSource> source, BeginPhase on_phase)
      : source_(std::move(source)), on_phase_(std::move(on_phase)) {}

  Expected<wire::Message> hello() override {
    const Phase phase = begin_phase(on_phase_, "starting LibTorch under Valgrind");
    return source_->hello();
  }

  Expected<std::shared_ptr<WorkerProcess>> zygote(WarmUp which) override {
    const Phase phase = begin_phase(on_phase_, "warming LibTorch up");
    return source_->zygote(which);
  }

  void kill() override { source_->kill(); }

 private:
  const std::shared_ptr<ZygoteSource> source_;
  const BeginPhase on_phase_;
};

constexpr int kLoadCrashes = 2;  // crashes after which the unit is to blame

// Adds advice, if there is any, to the output of a worker that ended while loading a unit.
std::string with_advice(std::string log) {
  if (log.find("debuginfo reader") == std::string::npos) return log;
  return log +
         "\nValgrind cannot read the debug information of a library that the unit loads: build it "
         "with -gdwarf-4, or remove the information with strip --strip-debug";
}

// Returns a failure if loading a unit took longer than `patience`.
std::optional<Failure> slow_load(const Reply& reply, std::chrono::milliseconds patience) {
  const std::string late = reply ? "" : late_text(reply.error(), patience);
  if (late.empty()) return std::nullopt;
  return Failure{FailureKind::kTimedOut,
                 "loading the unit was " + late +
                     ": does a constructor of a global setup, or of a library, hang? a longer "
                     "timeout (--timeout=SECONDS, or the benchmark's own) gives it more time"};
}

// Returns an attempt that ended before the variant ran.
Attempt lost_before(const std::string& message) {
  Attempt attempt = lost(message);
  attempt.again = true;
  return attempt;
}

}  // namespace

WorkerOptions Scheduler::worker_options() const {
  return {.valgrind = options_.valgrind.program,
          .valgrind_tools = options_.valgrind.tools,
          .work_dir = folder_.path(),
          .simulation = options_.config.simulation,
          .call_paths = options_.config.call_paths,
          .churn = options_.config.churn};
}

StartSource Scheduler::zygote_source() const {
  auto start = options_.config.is_warm
                   ? warm_workers(worker_options(), options_.find_worker, options_.tell)
                   : own_roots(worker_options(), options_.find_worker);
  return [start = std::move(start), on_phase = options_.on_phase](
             Language language) -> Expected<std::shared_ptr<ZygoteSource>> {
    TRY_ASSIGN(auto source, start(language));
    return std::make_shared<ReportingSource>(std::move(source), on_phase);
  };
}

void Scheduler::tell(const std::string& what) const {
  if (options_.tell) options_.tell(what);
}

Scheduler::Scheduler(ScheduleOptions options, PrivateFolder folder, MeasureEvents events)
    : options_(std::move(options)),
      folder_(std::move(folder)),
      measurer_(options_),
      events_(std::move(events)),
      zygotes_(zygote_source(), [this] {
        { std::lock_guard lock(mutex_); }
        changed_.notify_all();
      }) {
  for (int i = 0; i < std::max(options_.jobs, 1); ++i) threads_.emplace_back([this] { serve(); });
}

Scheduler::~Scheduler() { kill(); }

void Scheduler::kill() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    programs_.request_stop();
    // Hosts first: they clean up after snippets. Those that take too long are killed with their
    // zygote.
    for (WorkerProcess* host : live_hosts_) host->hang_up();
    for (Root* root : live_roots_) root->kill();
    changed_.wait_for(lock, kCleanUpTime, [this] { return busy_ == 0; });
    for (WorkerProcess* host : live_hosts_) host->abort();
  }
  zygotes_.kill();
  threads_.clear();  // joins
  std::lock_guard lock(mutex_);
  live_hosts_.clear();
  units_.clear();
  waiting_.clear();
}

void Scheduler::add(std::vector<CompiledVariant> variants) {
  for (const auto& each : variants) need_zygote(each.variant);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (auto& each : variants) {
      const double seconds = options_.expected ? options_.expected(each.variant) : 1;
      // Variants that were not prepared come last.
      const std::uint64_t row = rows_.try_emplace(each.variant.key, rows_.size()).first->second;
      enqueue({std::move(each), seconds, row, 0});
      ++outstanding_;
    }
  }
  changed_.notify_all();
}

void Scheduler::enqueue(Task task) {
  seconds_left_ += task.seconds;
  auto& queue = waiting_[{choose_zygote(task.compiled.variant), task.compiled.unit}];
  queue.insert(std::ranges::upper_bound(queue, task.order, {}, &Task::order), std::move(task));
}

bool Scheduler::wait(std::stop_token stop) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return outstanding_ == 0 || stopping_; });
    if (outstanding_ == 0) return true;
  }
  kill();
  return false;
}

// Considers the first variant of each unit, and the longest.
std::optional<Scheduler::Choice> Scheduler::next() {
  std::vector<Candidate> candidates;
  std::vector<Choice> choices;
  for (const auto& [key, tasks] : waiting_) {
    Candidate candidate;
    if (!tasks.front().compiled.variant.program && !options_.needs_fresh_process()) {
      // A zygote that failed to start counts as ready: its error is reported.
      auto state = zygotes_.state(key.zygote);
      candidate.zygote_ready =
          state == ZygotePool::State::kReady || state == ZygotePool::State::kFailed;
      if (auto unit = units_.find(key); unit != units_.end()) {
        candidate.needs_another_host = unit->second.busy > 0 && unit->second.idle.empty();
      }
    }
    const auto longest = std::ranges::max_element(tasks, {}, &Task::seconds);
    for (const auto& task : {tasks.begin(), longest}) {
      candidate.seconds = task->seconds;
      candidate.order = task->order;
      candidates.push_back(candidate);
      choices.push_back({key, static_cast<std::size_t>(task - tasks.begin())});
    }
  }
  auto chosen = choose(candidates, seconds_left_ / std::max(options_.jobs, 1));
  if (!chosen) return std::nullopt;
  return choices[*chosen];
}

void Scheduler::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<Choice> choice;
    changed_.wait(lock, [&] { return stopping_ || (choice = next()).has_value(); });
    if (stopping_) return;
    serve_next(lock, *choice);
  }
}

// Attempts the task without the lock.
void Scheduler::serve_next(std::unique_lock<std::mutex>& lock, const Choice& choice) {
  const UnitKey& key = choice.key;
  const auto group = waiting_.find(key);
  const auto place = group->second.begin() + static_cast<std::ptrdiff_t>(choice.task);
  Task task = std::move(*place);
  group->second.erase(place);
  if (group->second.empty()) waiting_.erase(group);
  UnitState& unit = units_[key];
  std::unique_ptr<WorkerProcess> host;
  if (!unit.idle.empty()) {
    host = std::move(unit.idle.back());
    unit.idle.pop_back();
  }
  seconds_left_ -= task.seconds;
  ++unit.busy;
  ++busy_;
  ++task.attempts;
  lock.unlock();

  Attempt result = attempt(task, key, host);

  std::vector<std::unique_ptr<WorkerProcess>> useless;
  lock.lock();
  --units_[key].busy;
  --busy_;
  put_back(key, std::move(host), useless);
  lock.unlock();
  changed_.notify_all();
  useless.clear();
  finish(std::move(task), std::move(result));
  lock.lock();
}

// Keeps the host while its unit has variants to measure.
void Scheduler::put_back(const UnitKey& key, std::unique_ptr<WorkerProcess> host,
                         std::vector<std::unique_ptr<WorkerProcess>>& useless) {
  auto& idle = units_[key].idle;
  if (host) idle.push_back(std::move(host));
  if (waiting_.contains(key) && !stopping_) return;
  for (auto& each : idle) {
    live_hosts_.erase(each.get());
    useless.push_back(std::move(each));
  }
  idle.clear();
}

void Scheduler::drop(std::unique_ptr<WorkerProcess>& host) {
  {
    std::lock_guard lock(mutex_);
    live_hosts_.erase(host.get());
  }
  host.reset();
}

void Scheduler::finish(Task task, Attempt attempt) {
  auto* failure = std::get_if<Failure>(&attempt.outcome);
  bool retry = attempt.again || (failure != nullptr && should_retry(failure->kind, task.attempts,
                                                                    options_.config.retries));
  const std::string key = task.compiled.variant.key;
  {
    std::lock_guard lock(mutex_);
    // Ignores failures caused by our own kill().
    if (stopping_ && failure != nullptr) return;
    if (retry) {
      if (attempt.again) --task.attempts;
      enqueue(std::move(task));
    }
  }
  if (retry && !attempt.again) tell(key + ": its worker was lost, so it is measured again");
  if (!retry) {
    std::lock_guard turn(callbacks_);
    // Moved above only for a retry. NOLINTNEXTLINE(bugprone-use-after-move)
    events_.on_done(
        {std::move(task.compiled.variant), std::move(attempt.outcome), attempt.seconds});
  }
  {
    std::lock_guard lock(mutex_);
    if (!retry) --outstanding_;
  }
  changed_.notify_all();
}

Expected<std::unique_ptr<Scheduler>> Scheduler::start(ScheduleOptions options,
                                                      MeasureEvents events) {
  if (options.config.keep_profiles) {
    TRY(make_output_folder(*options.config.keep_profiles, "name another one with --keep-profiles"));
  }
  TRY_ASSIGN(auto folder, PrivateFolder::make());
  return std::unique_ptr<Scheduler>(
      new Scheduler(std::move(options), std::move(folder), std::move(events)));
}

void Scheduler::prepare(const std::vector<Variant>& variants) {
  {
    std::lock_guard lock(mutex_);
    rows_.clear();
    for (const auto& variant : variants) rows_.try_emplace(variant.key, rows_.size());
  }
  for (const auto& variant : variants) need_zygote(variant);
}

void Scheduler::need_zygote(const Variant& variant) {
  if (variant.program || options_.needs_fresh_process()) return;
  zygotes_.need(choose_zygote(variant));
}

Expected<wire::Message> Scheduler::hello(Language preferred, std::stop_token stop) {
  return zygotes_.hello(preferred, std::move(stop));
}

Attempt Scheduler::attempt(const Task& task, const UnitKey& key,
                           std::unique_ptr<WorkerProcess>& host) {
  if (task.attempts == 1) {
    std::lock_guard turn(callbacks_);
    events_.on_start(task.compiled.variant.key);
  }
  try {
    const Variant& variant = task.compiled.variant;
    if (variant.program) {
      return measurer_.count(variant, options_.valgrind, folder_.path(), programs_.get_token());
    }
    if (options_.needs_fresh_process()) return attempt_fresh(task);
    if (!host) {
      if (auto problem = make_host(task, key, host)) return *std::move(problem);
    }
    auto result = measurer_.measure(task.compiled, *host);
    if (!host->answers()) drop(host);
    return result;
  } catch (const std::exception& error) {
    return lost(std::string("instr_bench itself failed: ") + error.what());
  }
}

// Makes a host that has loaded the unit, or returns the reason why there is none.
std::optional<Attempt> Scheduler::make_host(const Task& task, const UnitKey& key,
                                            std::unique_ptr<WorkerProcess>& host) {
  {
    std::lock_guard lock(mutex_);
    if (units_[key].load_failure) return Attempt{*units_[key].load_failure};
  }
  auto zygote = zygotes_.get(key.zygote);
  if (!zygote) {
    if (zygotes_.state(key.zygote) == ZygotePool::State::kFailed) {
      return lost(to_string(zygote.error()));
    }
    return lost_before("the worker was lost before this was measured");
  }
  auto log_begin = (*zygote)->log_size();
  auto forked = WorkerProcess::fork(*zygote);
  if (!forked) {
    if (zygotes_.lost(key.zygote, *zygote)) {
      tell("LibTorch under Valgrind was lost (killed, or out of memory?) and starts again");
    }
    return lost_before("the worker was lost before this was measured");
  }
  zygotes_.worked(key.zygote);
  host = *std::move(forked);
  {
    std::lock_guard lock(mutex_);
    live_hosts_.insert(host.get());
    if (stopping_) host->hang_up();
  }
  auto reply = host->request(load_request((*zygote)->worker(), key.unit),
                             measurer_.load_patience(task.compiled.variant));
  if (reply && reply->verb == "loaded") {
    std::lock_guard lock(mutex_);
    units_[key].load_crashes = 0;
    return std::nullopt;
  }
  auto problem = load_problem(task, key, reply, host->log_since(log_begin));
  drop(host);
  return problem;
}

Attempt Scheduler::load_problem(const Task& task, const UnitKey& key, const Reply& reply,
                                const std::string& log) {
  std::lock_guard lock(mutex_);
  UnitState& unit = units_[key];
  if (reply) {
    Variant any;  // all that the variants of a unit have in common
    any.build = task.compiled.variant.build;
    unit.load_failure = parse_reply(*reply, any);
  } else if (auto slow = slow_load(reply, measurer_.load_patience(task.compiled.variant))) {
    unit.load_failure = *std::move(slow);
  } else if (++unit.load_crashes >= kLoadCrashes) {
    unit.load_failure =
        Failure{FailureKind::kCrashed, load_crash_text(reply.error(), with_advice(log))};
  }
  if (unit.load_failure) return {*unit.load_failure};
  return lost_before("loading the unit ended the worker");
}

Attempt Scheduler::attempt_fresh(const Task& task) {
  auto root = start_root(task.compiled.variant.language, worker_options(), options_.find_worker);
  if (!root) return lost(to_string(root.error()));
  {
    std::lock_guard lock(mutex_);
    live_roots_.insert(root->get());
    if (stopping_) (*root)->kill();
  }
  Attempt result = run_fresh(task, **root);
  std::lock_guard lock(mutex_);
  live_roots_.erase(root->get());
  return result;
}

Attempt Scheduler::run_fresh(const Task& task, Root& root) {
  auto ready = root.await_hello().and_then(check_hello).and_then([&](const auto&) {
    return warm_up(root, choose_zygote(task.compiled.variant),
                   {.call_paths = options_.config.call_paths});
  });
  if (!ready) return lost(to_string(ready.error()));
  const auto patience = measurer_.load_patience(task.compiled.variant);
  auto loaded = root.request(load_request(root.worker(), task.compiled.unit), patience);
  if (auto slow = slow_load(loaded, patience)) return {*std::move(slow)};
  if (!loaded) return lost("loading the unit ended the worker", with_advice(root.log_since(0)));
  if (loaded->verb != "loaded") return {parse_reply(*loaded, task.compiled.variant)};
  auto result = measurer_.measure(task.compiled, root);
  auto* failure = std::get_if<Failure>(&result.outcome);
  if (failure == nullptr || failure->kind != FailureKind::kWorkerLost) return result;
  {
    std::lock_guard lock(mutex_);
    live_roots_.erase(&root);  // it has ended: its number may soon be reused
  }
  // There is no host to report the end of the snippet.
  if (auto status = root.await_end(std::chrono::seconds(5))) {
    if (auto ended = failure_of_status(*status)) result.outcome = *std::move(ended);
  }
  return result;
}

}  // namespace instr
