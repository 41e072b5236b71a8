// A snippet that is suspended between blocks: it runs on a stack of its own, so that its setup runs
// once, and the caller decides how many iterations each block has.
#pragma once

#include <sys/types.h>
#include <ucontext.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/abi.h"
#include "worker/wire.h"

namespace instr {

class TimedSnippet : instr_context {
 public:
  TimedSnippet(instr_snippet snippet, int threads, std::string device);
  ~TimedSnippet();
  TimedSnippet(const TimedSnippet&) = delete;
  TimedSnippet& operator=(const TimedSnippet&) = delete;

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

  static std::uint64_t next_block(instr_context* context);
  static void mark(instr_context* context, instr_mark reached);
  static void take_module(instr_context* context, const void* module);
  static void enter();
  void body();
  void resume();

  instr_snippet snippet_;
  std::string device_;
  pid_t pid_;
  void* stack_ = nullptr;
  const void* module_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::uint64_t iterations_ = 0;  // of the next block
  Clock::time_point begin_;
  Clock::time_point end_;
  std::map<instr_mark, Clock::time_point> marks_;
  bool is_at_loop_ = false;
  bool is_over_ = false;
  bool is_definition_error_ = false;
  std::string failure_;
};

}  // namespace instr
