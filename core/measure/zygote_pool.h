// The zygotes of a run: for C++ one for eager and one for all script runtimes, for Python one,
// started in the background, replaced if lost.
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

// Which zygote a variant is measured in.
WarmUp zygote_of(const Variant& variant);

// Builds the worker for Python, once it is needed.
using PythonWorker = std::function<Expected<std::filesystem::path>()>;

// `options` for that zygote: its kind and, for Python, its worker.
Expected<ZygoteOptions> options_for(WarmUp which, ZygoteOptions options,
                                    const PythonWorker& python_worker);

class ZygotePool {
 public:
  enum class State { kAbsent, kStarting, kReady, kFailed };

  // `options` are completed for each by options_for(). `on_change` is called, from other threads,
  // as zygotes get ready or fail.
  ZygotePool(ZygoteOptions options, PythonWorker python_worker, std::function<void()> on_change);
  // Kills them all.
  ~ZygotePool();

  // Starts the zygote if there is none, and returns at once.
  void need(WarmUp which);

  State state(WarmUp which) const;

  // Whether any of them is starting.
  bool is_starting() const;

  // The ready one; an Error if it could not be started, or is not ready.
  Expected<std::shared_ptr<Zygote>> get(WarmUp which) const;

  // `zygote` no longer answers: another one is started, unless that has happened already, or
  // several in a row were lost before doing anything.
  void lost(WarmUp which, const std::shared_ptr<Zygote>& zygote);

  void worked(WarmUp which);

  // The description from the first one for C++ that is ready; starts one if necessary, so that runs
  // of Python alone describe themselves as all others do.
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

  void start(WarmUp which);  // with the mutex held
  void bring_up(WarmUp which);
  Expected<wire::Message> try_start(WarmUp which);
  Slot& slot(WarmUp which) { return slots_[static_cast<std::size_t>(which)]; }
  const Slot& slot(WarmUp which) const { return slots_[static_cast<std::size_t>(which)]; }
  bool any_is(State state) const;  // with the mutex held

  const ZygoteOptions options_;
  const PythonWorker python_worker_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<Slot, kWarmUpNames.size()> slots_;
  std::optional<wire::Message> hello_;
  bool killed_ = false;
  std::vector<std::jthread> starters_;
};

}  // namespace instr
