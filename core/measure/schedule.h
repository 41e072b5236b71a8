// Measures compiled variants: keeps the zygotes, distributes variants to hosts within the available
// cores, and retries after a lost worker. No variant can harm another.
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
#include "core/measure/measure_config.h"
#include "core/measure/measurer.h"

namespace instr {

class Scheduler {
 public:
  // Events come from other threads, one call at a time; they must not call the scheduler.
  static Expected<std::unique_ptr<Scheduler>> start(ScheduleOptions options, MeasureEvents events);

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  // Kills workers that are still running.
  ~Scheduler();

  // Starts the zygotes that these variants need, and returns at once: they start while units
  // compile. Rows will be in this order.
  void prepare(const std::vector<Variant>& variants);

  // Queues variants; at any time, from any thread. Each ends in one call of on_done.
  void add(std::vector<CompiledVariant> variants);

  // Waits until all variants added so far are done. Returns false if `stop` was requested first:
  // then all workers are killed, and variants added later are dropped.
  bool wait(std::stop_token stop);

  // Waits for a worker, and returns its description of itself (CPU capability, ...), which is the
  // same for each language. Starts the one for `preferred` if nothing is prepared. An Error if it
  // cannot be started, with its output.
  Expected<wire::Message> hello(Language preferred, std::stop_token stop);

 private:
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

  // Waiting variants by unit, in the order of their rows.
  using Groups = std::map<UnitKey, std::deque<Task>>;

  struct Choice {
    UnitKey key;
    std::size_t task;  // the index in the group
  };

  Scheduler(ScheduleOptions options, PrivateFolder folder, MeasureEvents events);
  void kill();
  void tell(const std::string& what) const;
  void need_zygote(const Variant& variant);
  WorkerOptions worker_options() const;
  StartSource zygote_source() const;

  // Run by the threads:
  void serve();
  std::optional<Choice> next();
  void serve_next(std::unique_lock<std::mutex>& lock, const Choice& choice);
  void put_back(const UnitKey& key, std::unique_ptr<WorkerProcess> host,
                std::vector<std::unique_ptr<WorkerProcess>>& useless);
  void drop(std::unique_ptr<WorkerProcess>& host);
  void finish(Task task, Attempt attempt);
  void enqueue(Task task);  // the caller holds the mutex
  Attempt attempt(const Task& task, const UnitKey& key, std::unique_ptr<WorkerProcess>& host);
  std::optional<Attempt> make_host(const Task& task, const UnitKey& key,
                                   std::unique_ptr<WorkerProcess>& host);
  Attempt load_problem(const Task& task, const UnitKey& key, const Reply& reply,
                       const std::string& log);
  Attempt attempt_fresh(const Task& task);
  Attempt run_fresh(const Task& task, Root& root);

  const ScheduleOptions options_;
  const PrivateFolder folder_;
  const Measurer measurer_;
  const MeasureEvents events_;
  std::mutex callbacks_;  // one call at a time
  std::stop_source programs_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  Groups waiting_;
  std::map<UnitKey, UnitState> units_;
  std::set<WorkerProcess*> live_hosts_;
  std::set<Root*> live_roots_;                 // roots of fresh processes
  double seconds_left_ = 0;                    // expected, of all waiting variants
  std::map<std::string, std::uint64_t> rows_;  // the order of prepared variants, by key
  std::uint64_t outstanding_ = 0;
  int busy_ = 0;  // threads that measure
  bool stopping_ = false;

  ZygotePool zygotes_;
  std::vector<std::jthread> threads_;
};

}  // namespace instr
