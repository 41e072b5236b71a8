// What measuring needs and what outlives one pass over the definitions: a LibTorch, a compiler, the
// cache, the worker, and warm zygotes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/compile.h"
#include "core/engine/config.h"
#include "core/engine/costs.h"
#include "core/measure/schedule.h"
#include "core/report/list.h"
#include "core/results/fingerprint.h"
#include "core/values/measurement.h"

namespace instr {

// What a session reports while it works; calls come from any thread, one at a time.
struct SessionEvents {
  std::function<void(const std::string& what)> on_phase;      // "building the worker"
  std::function<void(const std::string& what)> on_measuring;  // "counting", "timing"
  std::function<void(const std::string& what)> on_note;       // worth a line of its own
  std::function<void(const std::string& key)> on_start;
  std::function<void(const Measurement& measurement)> on_done;
};

// The program, with its version: "valgrind-3.19.0".
Expected<std::string> find_valgrind();

// The reason why a variant can be neither counted nor timed on this LibTorch; nothing if it can.
std::optional<std::string> unsupported_reason(const Variant& variant, const LibTorch& libtorch,
                                              bool wants_times);

// What a run would do with each variant: cached, to be compiled, skipped. Starts no worker.
Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants);

class Session {
 public:
  // Finds everything and builds the worker where the cache lacks it. Errors are those of a setup
  // that cannot measure anything.
  static Expected<Session> open(const MeasureConfig& config, SessionEvents events,
                                std::stop_token stop);
  Session(Session&&) noexcept;
  ~Session();

  // Starts the zygotes these variants need; returns at once.
  void prepare(const std::vector<Variant>& variants);

  // What may legitimately change a count. Waits for a zygote, so `prepare` comes first.
  Expected<Fingerprint> fingerprint(std::stop_token stop);

  // Compiles and measures; each variant ends in one call of on_done, but for those that `selected`
  // refuses once compiled. False if `stop` came first. It is the next three, one after the
  // other.
  using Selected = std::function<bool(const CompiledVariant&)>;
  Expected<bool> measure(const std::vector<Variant>& variants, std::stop_token stop,
                         const Selected& selected = {});

  // Compiles and counts, and keeps what is to be timed and verified after that.
  Expected<bool> count(const std::vector<Variant>& variants, std::stop_token stop,
                       const Selected& selected = {});
  // Times what each has counted: of two sessions in turns, never at the same time.
  static bool time(const std::vector<Session*>& sessions, std::stop_token stop);
  // Verifies, and looks inside.
  Expected<bool> inspect(std::stop_token stop);
  // Variants that could not be looked into; each was reported.
  std::size_t not_dumped() const;

  // The same with experiments instead: each is verified and measured in fresh processes.
  Expected<bool> experiment(const std::vector<Variant>& variants, std::stop_token stop);

  // Measures what the worker itself holds (the canary), and gives the fingerprint.
  Expected<Fingerprint> measure_builtin(std::vector<CompiledVariant> variants,
                                        std::stop_token stop);

  const LibTorch& libtorch() const;
  // What measuring takes, as far as earlier runs know.
  const Costs& costs() const;
  const Toolchain& toolchain() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
