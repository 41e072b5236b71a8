// Reports of a session while it works.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/phase.h"
#include "core/compile/toolchain.h"
#include "core/measure/loaded_files.h"
#include "core/measure/measure_config.h"
#include "core/measure/native_worker.h"
#include "core/measure/schedule.h"
#include "core/measure/timer.h"
#include "core/results/fingerprint.h"
#include "core/results/measurement.h"
#include "core/run/progress.h"
#include "core/run/tools.h"

namespace instr {

// Callbacks, from any thread, one at a time.
struct SessionEvents {
  BeginPhase on_phase;                                        // "compiling 95 snippets"
  std::function<void(const std::string& what)> on_measuring;  // "counting", "timing"
  std::function<void(const std::string& what)> on_message;    // worth a separate line
  std::function<void(const std::string& key)> on_start;
  std::function<void(const Measurement& measurement)> on_done;
  std::function<void(const std::string& what)> on_step = {};  // a step of a started experiment
};

// Passes events on, one at a time, and remembers how measurements ended.
class Reporter {
 public:
  explicit Reporter(SessionEvents events) : events_(std::move(events)) {}

  // Begins a phase.
  Phase phase(const std::string& what) {
    std::lock_guard lock(mutex_);
    return begin_phase(events_.on_phase, what);
  }
  void measuring(const std::string& what) { report(events_.on_measuring, what); }
  void tell(const std::string& what) { report(events_.on_message, what); }
  void started(const std::string& key) { report(events_.on_start, key); }
  void done(const Measurement& measurement) {
    std::lock_guard lock(mutex_);
    const std::string& key = measurement.variant.key;
    if (std::holds_alternative<Failure>(measurement.outcome)) failed_.insert(key);
    if (std::holds_alternative<Skipped>(measurement.outcome)) skipped_.insert(key);
    costs.learn(measurement);
    if (events_.on_done) events_.on_done(measurement);
  }

  bool has_failed(const std::string& key) const { return is_in(failed_, key); }
  bool was_skipped(const std::string& key) const { return is_in(skipped_, key); }

  MeasureEvents measure_events() {
    return {[this](const std::string& key) { started(key); },
            [this](const Measurement& measurement) { done(measurement); },
            [this](const std::string& what) { report(events_.on_step, what); }};
  }

  Costs costs;  // costs of earlier runs, and of measurements since then

 private:
  template <class Value>
  void report(const std::function<void(const Value&)>& event, const Value& value) {
    std::lock_guard lock(mutex_);
    if (event) event(value);
  }

  bool is_in(const std::set<std::string>& keys, const std::string& key) const {
    std::lock_guard lock(mutex_);
    return keys.contains(key);
  }

  const SessionEvents events_;
  mutable std::mutex mutex_;
  std::set<std::string> failed_;  // keys
  std::set<std::string> skipped_;
};

// The passes over variants without Valgrind: timing, verifying, inspecting, experiments.

class NativePasses {
 public:
  NativePasses(const MeasureConfig& config, Tools& tools, Reporter& reporter)
      : config_(config), tools_(tools), reporter_(reporter) {}

  // Starts the worker for a language, once.
  Expected<NativeLanguage> start(Language language, std::stop_token stop);

  // Returns the variants to be timed, by language: those that have not failed. If the worker of a
  // language cannot be started, its variants fail.
  std::vector<TimedSide> timed_sides(std::vector<CompiledVariant> variants, std::stop_token stop);

  // False if `stop` was requested first.
  Expected<bool> verify(const std::vector<Variant>& candidates, std::stop_token stop);
  Expected<bool> experiment(const std::vector<Variant>& variants, std::stop_token stop);

  // Writes the files of --dump. A variant that cannot be inspected is reported and counted in
  // not_dumped().
  Expected<bool> dump(const std::vector<CompiledVariant>& variants, std::stop_token stop);
  std::size_t not_dumped() const { return not_dumped_; }

 private:
  TimerOptions timer_options() const;
  template <class Run>
  Expected<bool> by_language(const std::vector<Variant>& variants, std::stop_token stop,
                             const Run& run);
  tl::expected<wire::Message, std::string> inspect(const CompiledVariant& variant,
                                                   NativeWorker& worker) const;

  const MeasureConfig& config_;
  Tools& tools_;
  Reporter& reporter_;
  std::array<std::unique_ptr<NativeWorker>, kLanguages.size()> workers_;
  std::size_t not_dumped_ = 0;
};

// Measures variants: a LibTorch, a compiler, the cache and warm workers, which outlive one pass
// over the definitions.

class Session {
 public:
  // Finds the tools. An error is one of the setup: nothing can be measured.
  static Expected<std::unique_ptr<Session>> open(const MeasureConfig& config, SessionEvents events,
                                                 std::stop_token stop);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Ends the build of a worker, for which the scheduler's threads would wait.
  ~Session() { building_.request_stop(); }

  // Returns the variants that can be measured here, and reports the others as skipped. Starts the
  // workers that they need, and returns at once.
  std::vector<Variant> admit(const std::vector<Variant>& variants);

  // Returns everything that may change a count. Waits for a worker.
  Expected<Fingerprint> fingerprint(std::stop_token stop);

  // Returns, by key, a hash of the code of each variant (LanguageSupport::identify).
  Expected<std::map<std::string, std::string>> identify(const std::vector<Variant>& variants,
                                                        std::stop_token stop);

  // The next functions take admitted variants. Each variant ends in one call of on_done, except for
  // those that `selected` rejects once compiled. They return false if `stop` was requested first.
  using Selected = std::function<bool(const CompiledVariant&)>;

  // Compiles and counts; variants to time, verify and dump are kept for time() and inspect().
  Expected<bool> count(const std::vector<Variant>& variants, std::stop_token stop,
                       const Selected& selected = {});
  // Times what each session has kept: two sessions alternate, and never time simultaneously.
  static bool time(const std::vector<Session*>& sessions, std::stop_token stop);
  // Verifies, and dumps.
  Expected<bool> inspect(std::stop_token stop);
  // Calls count(), time() and inspect().
  Expected<bool> measure(const std::vector<Variant>& variants, std::stop_token stop,
                         const Selected& selected = {});
  // Instead of these: verifies each variant and measures it in fresh processes.
  Expected<bool> experiment(const std::vector<Variant>& variants, std::stop_token stop);

  // Returns the number of variants that could not be inspected; each was reported.
  std::size_t not_dumped() const { return native_->not_dumped(); }

  // Lists the files that compilers have read, without those of the system and of LibTorch.
  std::set<std::filesystem::path> files_read() const { return tools_->cache.files_read(); }

  // Returns the files that a result's code includes, and those that were loaded, with their hashes;
  // nothing if they are not known. To be called while measurements are reported.
  std::optional<std::map<std::string, std::string>> list_input_files(
      const Measurement& measurement);

  // Lists the folders of LibTorch, of the cache and of this installation.
  std::vector<std::filesystem::path> known_folders() const;

  // Measures the worker's own snippet (the canary), and returns the fingerprint.
  Expected<Fingerprint> measure_builtin(const CompiledVariant& snippet, std::stop_token stop);

  const LibTorch& libtorch() const { return tools_->libtorch(); }
  const Costs& costs() const { return reporter_.costs; }
  // Returns the worker that counts in C++, which is built if the cache lacks it.
  Expected<WorkerProgram> worker(std::stop_token stop) const {
    return tools_->language(Language::kCpp).counting_worker(stop);
  }

 private:
  Session(const MeasureConfig& config, SessionEvents events)
      : config_(config), reporter_(std::move(events)) {}
  Expected<void> start(std::stop_token stop);
  Expected<void> open_scheduler();
  Expected<WorkerProgram> build_counting_worker(Language language);
  void take(UnitResult unit, const Selected& selected);
  void tidy();

  const MeasureConfig config_;
  Reporter reporter_;
  std::unique_ptr<Tools> tools_;
  Valgrind valgrind_;  // no version: nothing is counted
  // Work that count() leaves for the other passes.
  struct Remaining {
    std::vector<CompiledVariant> to_time;
    std::vector<CompiledVariant> to_dump;
    std::vector<Variant> to_verify;
  } remaining_;
  std::stop_source building_;
  const fs::file_time_type started_ = fs::file_time_type::clock::now();
  std::mutex inputs_mutex_;                                             // guards the next two
  std::map<std::string, std::map<std::string, std::string>> includes_;  // key -> file -> hash
  InputHashes hashes_;
  // Last: destroyed before the members they use.
  std::unique_ptr<NativePasses> native_;
  std::unique_ptr<Scheduler> scheduler_;  // null: nothing is to be counted
};

}  // namespace instr
