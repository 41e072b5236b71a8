// Measures variants: a LibTorch, a compiler, the cache and warm workers, which outlive one pass
// over the definitions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/valgrind.h"
#include "core/measure/schedule.h"
#include "core/results/fingerprint.h"
#include "core/run/native_passes.h"

namespace instr {

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
  // Last: destroyed before the members they use.
  std::unique_ptr<NativePasses> native_;
  std::unique_ptr<Scheduler> scheduler_;  // null: nothing is to be counted
};

}  // namespace instr
