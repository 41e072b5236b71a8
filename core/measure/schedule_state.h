// The state of the scheduler, for its queue and threads (schedule.cpp) and for attempts at a
// variant (schedule_attempt.cpp) only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/private_folder.h"
#include "core/compile/compiled_variant.h"
#include "core/measure/measurer.h"
#include "core/measure/schedule.h"
#include "core/measure/worker_process.h"
#include "core/measure/zygote_pool.h"

namespace instr {

WorkerOptions worker_options(const ScheduleOptions& options, const std::filesystem::path& folder);

struct Task {
  CompiledVariant compiled;
  double seconds = 1;  // expected
  std::uint64_t order = 0;
  int attempts = 0;
};

struct UnitKey {
  WarmUp zygote;
  std::filesystem::path unit;
  auto operator<=>(const UnitKey&) const = default;
};

struct UnitState {
  std::vector<std::unique_ptr<WorkerProcess>> idle;  // hosts that have loaded it
  int busy = 0;                                      // hosts
  int load_crashes = 0;
  std::optional<Outcome> load_failure;
};

// Waiting variants by unit, the longest first.
using Groups = std::map<UnitKey, std::deque<Task>>;

struct Scheduler::State {
  State(ScheduleOptions options, PrivateFolder folder, MeasureEvents events);
  ~State();

  void add(std::vector<CompiledVariant> variants);
  bool wait(std::stop_token stop);
  void kill();

  // Run by the threads:
  void serve();
  std::optional<Groups::iterator> next();
  void serve_next(std::unique_lock<std::mutex>& lock, Groups::iterator group);
  void put_back(const UnitKey& key, std::unique_ptr<WorkerProcess> host,
                std::vector<std::unique_ptr<WorkerProcess>>& useless);
  void drop(std::unique_ptr<WorkerProcess>& host);
  void finish(Task task, Attempt attempt);
  void enqueue(Task task);  // with the mutex held
  Attempt attempt(const Task& task, const UnitKey& key, std::unique_ptr<WorkerProcess>& host);
  std::optional<Attempt> make_host(const Task& task, const UnitKey& key,
                                   std::unique_ptr<WorkerProcess>& host);
  Attempt load_problem(const Task& task, const UnitKey& key, const Reply& reply,
                       const std::string& log);
  Attempt attempt_fresh(const Task& task);
  Attempt run_fresh(const Task& task, Root& root);

  const ScheduleOptions options;
  const PrivateFolder folder;
  const Measurer measurer;
  const MeasureEvents events;
  std::mutex callbacks;  // one call at a time

  mutable std::mutex mutex;  // guards all below
  std::condition_variable_any changed;
  Groups waiting;
  std::map<UnitKey, UnitState> units;
  std::set<WorkerProcess*> live_hosts;
  std::set<Root*> live_roots;  // of fresh processes
  double seconds_left = 0;     // expected, of all waiting variants
  std::uint64_t added = 0;
  std::uint64_t outstanding = 0;
  int busy = 0;  // threads that measure
  bool stopping = false;

  ZygotePool zygotes;
  std::vector<std::jthread> threads;
};

}  // namespace instr
