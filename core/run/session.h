// Measures variants: a LibTorch, a compiler, the cache and warm workers, which outlive one pass
// over the definitions.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/compile/compiled_variant.h"
#include "core/compile/worker_program.h"
#include "core/results/fingerprint.h"
#include "core/run/config.h"
#include "core/run/costs.h"
#include "core/run/session_events.h"

namespace instr {

class Session {
 public:
  // Finds the tools. An error is one of the setup: nothing can be measured.
  static Expected<Session> open(const MeasureConfig& config, SessionEvents events,
                                std::stop_token stop);
  Session(Session&&) noexcept;
  ~Session();

  // Returns the variants that can be measured here, and reports the others as skipped. Starts the
  // workers that they need, and returns at once.
  std::vector<Variant> admit(const std::vector<Variant>& variants);

  // Returns everything that may change a count. Waits for a worker.
  Expected<Fingerprint> fingerprint(std::stop_token stop);

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
  std::size_t not_dumped() const;

  // Measures the worker's own snippet (the canary), and returns the fingerprint.
  Expected<Fingerprint> measure_builtin(const CompiledVariant& snippet, std::stop_token stop);

  const LibTorch& libtorch() const;
  const Toolchain& toolchain() const;
  const Costs& costs() const;
  // Returns the worker that counts in C++, which is built if the cache lacks it.
  Expected<WorkerProgram> worker(std::stop_token stop) const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
