// A snippet that is timed: what came of its setup, of its start and of each block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "worker/native/native_code.h"
#include "worker/wire.h"

namespace instr {

struct TimingRequest;

class TimedSnippet {
 public:
  // `code`: one of the request's.
  TimedSnippet(const void* code, const TimingRequest& request);

  // Runs the setup, up to the loop. False if that failed.
  bool set_up();

  // Seconds that so many iterations took, including the work that they left to the device; nothing
  // if the snippet failed meanwhile.
  std::optional<double> run(std::uint64_t iterations);

  // The time to start, in seconds.
  struct Start {
    double first_result = 0;  // until the statement, unprepared, has run once
    double ready = 0;         // until the preparation in the first runs is finished
  };
  // Sets it up and runs it until it is ready; nothing if that failed. Instead of set_up(), in a
  // process that has not run it yet.
  std::optional<Start> start();

  // Leaves the loop, so that the setup's objects are destroyed as usual.
  void finish();

  // The TorchScript module that it runs, from the end of its setup to finish(); null: none.
  const void* module() const { return module_; }
  // Called with the module as loaded; to be set before the setup.
  std::function<void(const void* module)> on_module;

  // Why it failed: an exception's text, for instance. Empty: it did not.
  const std::string& failure() const { return failure_; }
  // The same as a reply.
  wire::Message failure_message() const;

 private:
  using Clock = std::chrono::steady_clock;

  void mark(instr_mark reached);
  void take_module(const void* module);
  void note_end();

  int threads_;
  std::string device_;
  std::function<void(const std::string& part)> on_part_;
  const void* module_ = nullptr;
  std::map<instr_mark, Clock::time_point> marks_;
  SuspendedCode code_;
  bool is_at_loop_ = false;
  bool is_over_ = false;
  bool is_definition_error_ = false;
  int line_ = 0;
  std::string failure_;
};

}  // namespace instr
