// Measures compiled variants: keeps the zygotes, distributes variants to hosts within the available
// cores, and retries after a lost worker. No variant can harm another.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/compiled_variant.h"
#include "core/measure/measure_events.h"
#include "core/measure/zygote_pool.h"
#include "core/results/simulation.h"
#include "worker/wire.h"

namespace instr {

struct ScheduleOptions {
  FindWorker find_worker;
  int churn = 0;  // WorkerOptions::churn
  Simulation simulation = {};
  bool call_paths = false;                              // WorkerOptions::call_paths
  bool want_lines = false;                              // costs of lines of the sources
  std::filesystem::path valgrind = "valgrind";          // looked up on PATH unless it has a slash
  int jobs = 1;                                         // cores in total
  std::function<double(const Variant&)> expected = {};  // seconds; absent: 1 for each
  double timeout_s = 60;                                // of a variant without its own
  int retries = 2;                                      // per variant, after a lost worker
  bool fresh_process = false;                           // a Valgrind for each variant
  bool is_warm = false;  // zygotes come from warm workers (core/measure/warm_client.h)
  // Called with the reason if warm workers cannot be used, from another thread.
  std::function<void(const std::string&)> note = {};
  bool want_functions = true;
  bool follow_calls = false;                           // of an interpreter
  std::optional<std::filesystem::path> keep_profiles;  // folder; made if it is missing
};

class Scheduler {
 public:
  // Events come from other threads, one call at a time; they must not call the scheduler.
  static Expected<std::unique_ptr<Scheduler>> start(ScheduleOptions options, MeasureEvents events);

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  // Kills workers that are still running.
  ~Scheduler();

  // Starts the zygotes that these variants need, and returns at once: they start while units
  // compile.
  void prepare(const std::vector<Variant>& variants);

  // Queues variants; at any time, from any thread. Each ends in one call of on_done.
  void add(std::vector<CompiledVariant> variants);

  // Waits until all variants added so far are done. Returns false if `stop` was requested first:
  // then all workers are killed, and variants added later are dropped.
  bool wait(std::stop_token stop);

  // Waits for a worker, and returns its description of itself (LibTorch's version, CPU capability,
  // ...). An Error if no worker can be started, with its output.
  Expected<wire::Message> hello(std::stop_token stop);

  struct State;

 private:
  explicit Scheduler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
