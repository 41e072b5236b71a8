// The zygotes of a run: one for eager and one for all script runtimes, started in the background,
// replaced if lost.
#pragma once

#include <array>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/variant.h"
#include "core/measure/worker_client.h"

namespace instr {

// Checks a worker's description of itself at its start.
Expected<wire::Message> check_hello(const wire::Message& hello);

// ZygoteOptions::kind of the zygote whose warm-up this runtime needs.
const char* zygote_kind(Runtime runtime);

class ZygotePool {
 public:
  enum class State { kAbsent, kStarting, kReady, kFailed };

  // `options.kind` is filled in for each. `on_change` is called, from other threads, as zygotes get
  // ready or fail.
  ZygotePool(ZygoteOptions options, std::function<void()> on_change);
  // Kills them all.
  ~ZygotePool();

  // Starts the runtime's zygote if there is none, and returns at once.
  void need(Runtime runtime);

  State state(Runtime runtime) const;

  // Whether any of them is starting.
  bool is_starting() const;

  // The ready one; an Error if it could not be started, or is not ready.
  Expected<std::shared_ptr<Zygote>> get(Runtime runtime) const;

  // `zygote` no longer answers: another one is started, unless that has happened already, or
  // several in a row were lost before doing anything.
  void lost(Runtime runtime, const std::shared_ptr<Zygote>& zygote);

  void worked(Runtime runtime);

  // The description from the first one that is ready; starts one if necessary.
  Expected<wire::Message> hello(std::stop_token stop);

  // Ends all of them, permanently.
  void kill();

 private:
  struct Slot {
    State state = State::kAbsent;
    std::shared_ptr<Zygote> zygote;  // also while it starts
    std::optional<Error> error;
    int losses = 0;  // in a row
  };

  void start(Runtime runtime);  // with the mutex held
  void bring_up(Runtime runtime);
  Expected<wire::Message> try_start(Runtime runtime);
  Slot& slot(Runtime runtime) { return slots_[static_cast<std::size_t>(facts_of(runtime).zygote)]; }
  const Slot& slot(Runtime runtime) const {
    return slots_[static_cast<std::size_t>(facts_of(runtime).zygote)];
  }
  bool any_is(State state) const;  // with the mutex held

  const ZygoteOptions options_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<Slot, kWarmUpNames.size()> slots_;
  std::optional<wire::Message> hello_;
  bool killed_ = false;
  std::vector<std::jthread> starters_;
};

}  // namespace instr
