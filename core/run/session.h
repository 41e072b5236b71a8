// The resources of measuring, which outlive one pass over the definitions: a LibTorch, a compiler,
// the cache, the worker, and warm zygotes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/compile/planned_variant.h"
#include "core/measure/schedule.h"
#include "core/results/fingerprint.h"
#include "core/results/measurement.h"
#include "core/run/config.h"
#include "core/run/costs.h"

namespace instr {

// A session's reports while it works; calls come from any thread, one at a time.
struct SessionEvents {
  std::function<void(const std::string& what)> on_phase;      // "building the worker"
  std::function<void(const std::string& what)> on_measuring;  // "counting", "timing"
  std::function<void(const std::string& what)> on_note;       // worth a line of its own
  std::function<void(const std::string& key)> on_start;
  std::function<void(const Measurement& measurement)> on_done;
};

// Valgrind's version: "valgrind-3.19.0".
Expected<std::string> find_valgrind();

// The reason why a variant can be neither counted nor timed on this LibTorch; nothing if it can be.
std::optional<std::string> unsupported_reason(const Variant& variant, const LibTorch& libtorch,
                                              bool wants_times);

// What a run would do with each variant: cached, to be compiled, skipped. Starts no worker.
Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants);

class Session {
 public:
  // Finds everything, and begins to build the worker if the cache lacks it. Errors are those of a
  // setup that cannot measure anything.
  static Expected<Session> open(const MeasureConfig& config, SessionEvents events,
                                std::stop_token stop);
  Session(Session&&) noexcept;
  ~Session();

  // Starts the zygotes these variants need; returns at once.
  void prepare(const std::vector<Variant>& variants);

  // Everything that may legitimately change a count. Waits for a zygote, so call `prepare` first.
  Expected<Fingerprint> fingerprint(std::stop_token stop);

  // Compiles and measures; each variant ends in one call of on_done, except for those that
  // `selected` rejects once compiled. False if `stop` came first. Equivalent to the next three
  // functions in sequence.
  using Selected = std::function<bool(const CompiledVariant&)>;
  Expected<bool> measure(const std::vector<Variant>& variants, std::stop_token stop,
                         const Selected& selected = {});

  // Compiles and counts; variants to time and verify are kept for later.
  Expected<bool> count(const std::vector<Variant>& variants, std::stop_token stop,
                       const Selected& selected = {});
  // Times the variants that each has kept: two sessions alternate, and never time simultaneously.
  static bool time(const std::vector<Session*>& sessions, std::stop_token stop);
  // Verifies, and dumps.
  Expected<bool> inspect(std::stop_token stop);
  // Variants that could not be inspected; each was reported.
  std::size_t not_dumped() const;

  // The same with experiments instead: each is verified and measured in fresh processes.
  Expected<bool> experiment(const std::vector<Variant>& variants, std::stop_token stop);

  // Measures the worker's own snippet (the canary), and returns the fingerprint.
  Expected<Fingerprint> measure_builtin(std::vector<CompiledVariant> variants,
                                        std::stop_token stop);

  const LibTorch& libtorch() const;
  // The cost of measuring, as known from earlier runs.
  const Costs& costs() const;
  const Toolchain& toolchain() const;
  // Waits until the worker that counts in C++ is built.
  Expected<std::filesystem::path> worker() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
