// The zygotes of a run, started in the background and replaced if lost: each is forked from the
// root for its language, since starting LibTorch takes most of the time.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/backends.h"
#include "core/definitions/variant.h"
#include "core/measure/worker_process.h"

namespace instr {

// Checks a worker's description of itself at its start.
Expected<wire::Message> check_hello(const wire::Message& hello);

// Returns the kind of zygote that a variant is measured in.
WarmUp choose_zygote(const Variant& variant);

// Builds the worker for a language, or waits until it is built.
using FindWorker = std::function<Expected<WorkerProgram>(Language)>;

// Adds the program of that language to the options.
Expected<WorkerOptions> options_for(Language language, WorkerOptions options,
                                    const FindWorker& find_worker);
// Starts a root for that language.
Expected<std::shared_ptr<Root>> start_root(Language language, const WorkerOptions& options,
                                           const FindWorker& find_worker);

// Makes this process a zygote, which depends on the options `churn` and `call_paths` only.
Expected<void> warm_up(WorkerProcess& process, WarmUp which, const WorkerOptions& options = {});

// Forks a zygote from the root.
Expected<std::shared_ptr<WorkerProcess>> fork_zygote(const std::shared_ptr<Root>& root,
                                                     WarmUp which,
                                                     const WorkerOptions& options = {});

// A source of zygotes for a language.
class ZygoteSource {
 public:
  virtual ~ZygoteSource() = default;
  // Waits for the worker, and returns its description of itself. Called once, first.
  virtual Expected<wire::Message> hello() = 0;
  // Returns a new zygote; from any thread.
  virtual Expected<std::shared_ptr<WorkerProcess>> zygote(WarmUp which) = 0;
  // From any thread: ends all of its zygotes, and waiting calls.
  virtual void kill() = 0;
};

// Starts the source for a language, without waiting for it.
using StartSource = std::function<Expected<std::shared_ptr<ZygoteSource>>(Language)>;

// Returns a source that starts roots with start_root().
StartSource own_roots(WorkerOptions options, FindWorker find_worker);

class ZygotePool {
 public:
  enum class State { kAbsent, kStarting, kReady, kFailed };

  // `on_change` is called, from other threads, as zygotes get ready or fail.
  ZygotePool(StartSource start_source, std::function<void()> on_change);
  // Kills all zygotes.
  ~ZygotePool();

  // Starts the zygote if it is absent, and returns at once.
  void need(WarmUp which);

  State state(WarmUp which) const;

  // Returns the zygote; an Error if it could not be started, or is not ready.
  Expected<std::shared_ptr<WorkerProcess>> get(WarmUp which) const;

  // Replaces a zygote that no longer answers, unless that was done already, or several in a row
  // were lost before they forked a host. Returns true if another one starts.
  bool lost(WarmUp which, const std::shared_ptr<WorkerProcess>& zygote);

  // Notes that the zygote has forked a host.
  void worked(WarmUp which);

  // Waits for a worker, and returns its description of itself, which is the same for each language.
  // Starts the one for `preferred` if zygotes of neither language are needed.
  Expected<wire::Message> hello(Language preferred, std::stop_token stop);

  // Ends all zygotes, permanently.
  void kill();

 private:
  struct Slot {
    State state = State::kAbsent;
    std::shared_ptr<WorkerProcess> zygote;
    std::optional<Error> error;
    int losses = 0;  // consecutive losses
  };
  struct SourceSlot {
    State state = State::kAbsent;
    std::shared_ptr<ZygoteSource> source;  // set even while it starts
    std::optional<Error> error;
    wire::Message hello;
  };

  void start(WarmUp which);  // the caller holds the mutex
  void bring_up(WarmUp which);
  template <class Try>
  auto retry(const Try& attempt) const;
  Expected<std::shared_ptr<WorkerProcess>> try_to_fork(WarmUp which);
  Expected<std::shared_ptr<ZygoteSource>> source_for(Language language);
  Expected<wire::Message> try_to_start(Language language);
  Language language_in_use(Language preferred) const;  // the caller holds the mutex
  void drop(Language language, const std::shared_ptr<ZygoteSource>& lost);
  bool is_killed() const;
  Slot& slot(WarmUp which) { return slots_[static_cast<std::size_t>(which)]; }
  const Slot& slot(WarmUp which) const { return slots_[static_cast<std::size_t>(which)]; }
  SourceSlot& source(Language language) { return sources_[static_cast<std::size_t>(language)]; }

  const StartSource start_source_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<Slot, kWarmUps.size()> slots_;
  std::array<SourceSlot, kLanguages.size()> sources_;
  bool killed_ = false;
  std::vector<std::jthread> starters_;
};

}  // namespace instr
