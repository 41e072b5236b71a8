// A snippet that stands still between blocks: it runs on a stack of its own, so that its set-up runs
// once, and whoever times it decides how many iterations each block has.
#pragma once

#include <sys/types.h>
#include <ucontext.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "worker/abi.h"

namespace instr {

class TimedSnippet : instr_context {
 public:
  TimedSnippet(instr_snippet snippet, int threads, std::string device);
  ~TimedSnippet();
  TimedSnippet(const TimedSnippet&) = delete;
  TimedSnippet& operator=(const TimedSnippet&) = delete;

  // Runs the set-up, up to the loop. False where that failed.
  bool set_up();

  // Seconds that so many iterations took, with the work that they left to the device; nothing where
  // the snippet failed among them.
  std::optional<double> run(std::uint64_t iterations);

  // Why it failed: an exception's text, for instance. Empty: it did not.
  const std::string& failure() const { return failure_; }
  bool is_definition_error() const { return is_definition_error_; }

 private:
  using Clock = std::chrono::steady_clock;

  static std::uint64_t next_block(instr_context* context);
  static void enter();
  void body();
  void resume();

  instr_snippet snippet_;
  std::string device_;
  pid_t pid_;
  void* stack_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::uint64_t iterations_ = 0;  // of the next block
  Clock::time_point begin_;
  Clock::time_point end_;
  bool is_at_loop_ = false;
  bool is_over_ = false;
  bool is_definition_error_ = false;
  std::string failure_;
};

}  // namespace instr
