#include <chrono>
#include <exception>
#include <utility>

#include "core/measure/schedule.h"
#include "core/measure/worker_process.h"

namespace instr {

namespace {

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

Attempt Scheduler::attempt(const Task& task, const UnitKey& key,
                           std::unique_ptr<WorkerProcess>& host) {
  if (task.attempts == 1) {
    std::lock_guard turn(callbacks_);
    events_.on_start(task.compiled.variant.key);
  }
  try {
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
