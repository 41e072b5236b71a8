// The passes over variants without Valgrind: timing, verifying, inspecting, experiments.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/measure/native_worker.h"
#include "core/measure/timer.h"
#include "core/run/session_events.h"
#include "core/run/tools.h"

namespace instr {

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

}  // namespace instr
