// Times compiled variants in the native worker, one group at a time with nothing else running: what
// differs in its runtime alone is timed in turns in one process, so that it can be compared.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile.h"
#include "core/error.h"
#include "core/measurement.h"
#include "worker/wire.h"

namespace instr {

struct TimerOptions {
  std::filesystem::path worker;  // program that build_native_worker made
  int repetitions = 10;
  double min_time_s = 0.05;  // of one repetition
  double timeout_s = 60;     // of one variant that names none itself
  std::uint64_t memory_limit = 0;  // bytes that a process may use; 0: all there are
  bool wants_start = false;        // what it takes each to begin, too
};

class Timer {
 public:
  using OnStart = std::function<void(const std::string& key)>;
  using OnDone = std::function<void(Measurement)>;

  // Starts the worker, and waits until it is ready.
  static Expected<std::unique_ptr<Timer>> start(TimerOptions options);

  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // What the worker said of itself.
  const wire::Message& hello() const;

  // Each ends in one call of on_done. False where `stop` was requested first.
  bool time(std::vector<CompiledVariant> variants, const OnStart& on_start, const OnDone& on_done,
            std::stop_token stop);

 private:
  struct State;
  explicit Timer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace instr
