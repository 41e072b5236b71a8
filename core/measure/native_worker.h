// The worker that runs without Valgrind: started once, and again if it was lost. Each request runs
// in a fresh process.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/private_folder.h"
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

}  // namespace instr
