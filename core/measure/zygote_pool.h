// The zygotes of a run, got in the background, and replaced if lost: each forked from the root for
// its language, since starting LibTorch takes most of the time.
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
#include "core/definitions/backends.h"
#include "core/definitions/variant.h"
#include "core/measure/worker_process.h"

namespace instr {

// Checks a worker's description of itself at its start.
Expected<wire::Message> check_hello(const wire::Message& hello);

// Which zygote a variant is measured in.
WarmUp zygote_of(const Variant& variant);

// Builds the worker for a language once it is needed, or waits until it is built.
using FindWorker = std::function<Expected<WorkerProgram>(Language)>;

// The options of a worker for that language.
Expected<WorkerOptions> options_for(Language language, WorkerOptions options,
                                    const FindWorker& find_worker);
// Starts one.
Expected<std::shared_ptr<Root>> start_root(Language language, const WorkerOptions& options,
                                           const FindWorker& find_worker);

struct ZygoteOptions {
  int churn = 0;            // WorkerOptions::churn
  bool call_paths = false;  // WorkerOptions::call_paths
};

// Makes this process a zygote.
Expected<void> warm_up(WorkerProcess& process, WarmUp which, const ZygoteOptions& options = {});

// A fork of the root that is one.
Expected<std::shared_ptr<WorkerProcess>> zygote_of(const std::shared_ptr<Root>& root, WarmUp which,
                                                   const ZygoteOptions& options = {});

// Where the zygotes of one language come from.
class ZygoteSource {
 public:
  virtual ~ZygoteSource() = default;
  // What the worker says of itself; waits until it has started. Called once, first.
  virtual Expected<wire::Message> hello() = 0;
  // A new one; from any thread.
  virtual Expected<std::shared_ptr<WorkerProcess>> zygote(WarmUp which) = 0;
  // From any thread: ends all of its zygotes, and waiting calls.
  virtual void kill() = 0;
};

// Starts the source for a language, without waiting for it.
using StartSource = std::function<Expected<std::shared_ptr<ZygoteSource>>(Language)>;

// A root of our own, by start_root().
StartSource own_roots(WorkerOptions options, FindWorker find_worker);

class ZygotePool {
 public:
  enum class State { kAbsent, kStarting, kReady, kFailed };

  // `on_change` is called, from other threads, as zygotes get ready or fail.
  ZygotePool(StartSource start_source, std::function<void()> on_change);
  // Kills them all.
  ~ZygotePool();

  // Brings the zygote up if there is none, and returns at once.
  void need(WarmUp which);

  State state(WarmUp which) const;

  // The ready one; an Error if it could not be started, or is not ready.
  Expected<std::shared_ptr<WorkerProcess>> get(WarmUp which) const;

  // `zygote` no longer answers: another one is started, unless that has happened already, or
  // several in a row were lost before doing anything.
  void lost(WarmUp which, const std::shared_ptr<WorkerProcess>& zygote);

  void worked(WarmUp which);

  // What the worker for C++ says of itself; starts it if necessary, so that runs of Python alone
  // describe themselves as all others do.
  Expected<wire::Message> hello(std::stop_token stop);

  // Ends all of them, permanently.
  void kill();

 private:
  struct Slot {
    State state = State::kAbsent;
    std::shared_ptr<WorkerProcess> zygote;
    std::optional<Error> error;
    int losses = 0;  // in a row
  };
  struct SourceSlot {
    State state = State::kAbsent;
    std::shared_ptr<ZygoteSource> source;  // also while it starts
    std::optional<Error> error;
    wire::Message hello;
  };

  void start(WarmUp which);  // with the mutex held
  void bring_up(WarmUp which);
  Expected<std::shared_ptr<WorkerProcess>> try_to_fork(WarmUp which);
  Expected<std::shared_ptr<ZygoteSource>> source_for(Language language);
  Expected<wire::Message> try_to_start(Language language);
  void drop(Language language, const std::shared_ptr<ZygoteSource>& lost);
  bool is_killed() const;
  Slot& slot(WarmUp which) { return slots_[static_cast<std::size_t>(which)]; }
  const Slot& slot(WarmUp which) const { return slots_[static_cast<std::size_t>(which)]; }
  SourceSlot& source(Language language) { return sources_[static_cast<std::size_t>(language)]; }

  const StartSource start_source_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<Slot, kWarmUpNames.size()> slots_;
  std::array<SourceSlot, kLanguages.size()> sources_;
  bool killed_ = false;
  std::vector<std::jthread> starters_;
};

}  // namespace instr
