// The worker that runs without Valgrind: started once, and again if it was lost. Each request runs
// in a fresh process. Makes the requests that run variants to time them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/private_folder.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/language_support.h"
#include "core/measure/measure_config.h"
#include "core/measure/worker_process.h"

namespace instr {

class NativeWorker {
 public:
  // Starts it (LanguageSupport::native_worker), and waits until it is ready.
  static Expected<std::unique_ptr<NativeWorker>> start(WorkerProgram program);

  const wire::Message& hello() const { return hello_; }
  // When the first root was started: it has read no file before.
  std::filesystem::file_time_type started() const { return started_; }

  // Forks a process that loads these units, and returns its reply to the request. The error says
  // how the worker was lost, independently of the units; the next request starts another. `limit`
  // is the time for the reply; starting and loading come on top.
  tl::expected<wire::Message, std::string> ask(const std::set<std::filesystem::path>& units,
                                               const wire::Message& request,
                                               std::chrono::milliseconds limit);

  // From any thread: ends it and the processes that it forked, permanently.
  void kill();

 private:
  NativeWorker(WorkerOptions options, PrivateFolder folder);
  Expected<wire::Message> bring_up();
  std::shared_ptr<Root> root();
  tl::expected<std::unique_ptr<WorkerProcess>, std::string> fork_host();
  Reply load(WorkerProcess& host, const std::set<std::filesystem::path>& units,
             std::chrono::milliseconds limit) const;

  const WorkerOptions options_;
  const PrivateFolder folder_;
  const std::filesystem::file_time_type started_ = std::filesystem::file_time_type::clock::now();
  wire::Message hello_;
  std::mutex mutex_;  // guards the next two
  std::shared_ptr<Root> root_;
  bool is_killed_ = false;
};

// The compiler and the native worker of a language.
struct NativeLanguage {
  LanguageSupport& support;
  NativeWorker& worker;

  // Measures these variants one after the other; each ends in one call of on_done. Returns false if
  // `stop` was requested first: then the worker is killed.
  bool measure_each(const std::vector<Variant>& variants, const MeasureEvents& events,
                    std::stop_token stop,
                    const std::function<Measurement(const Variant&)>& measure) const;
};

// Options of a compiler of whole functions.
struct CompilerOptions {
  std::filesystem::path cache = {};  // folder; empty: the usual one
  std::string logs = {};             // words that name the logs to keep
};

// Adds these to a request that runs this compiled variant, and perhaps eager.
void add_to(wire::Message& request, const CompilerOptions& options, const Variant& compiled);

struct TimerOptions {
  MeasureConfig config = {};
  std::uint64_t memory_limit = 0;  // bytes that a process may use; 0: no limit
  CompilerOptions compiler = {};
};

// Variants of a benchmark in one language, which differ only in their backend.
using TimedGroup = std::vector<CompiledVariant>;

// Returns the iterations of a repetition; 0 if the worker chooses them.
int fixed_iterations(const TimedGroup& group, const TimerOptions& options);

// Returns the limit of a process for all of these, each of which has its own besides.
std::chrono::milliseconds sum_timeouts(const TimedGroup& group, const TimerOptions& options);
std::set<std::filesystem::path> units_of(const TimedGroup& group);

// Makes a request to run these in one process (worker/wire.h).
wire::Message make_timing_request(const char* verb, const TimedGroup& group,
                                  const TimerOptions& options);

// Returns the number of the snippet that ran when a process reached a time limit; nothing if it did
// not, or ran none.
std::optional<std::size_t> find_timed_out(const wire::Message& reply);

// Returns the native worker's reply to that request, or how the worker was lost.
tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const TimedGroup& group,
                                                    const TimerOptions& options);

}  // namespace instr
