// A snippet that is timed: runs its setup and blocks, and keeps how it failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/native/native_code.h"
#include "worker/wire.h"

namespace instr {

struct TimingRequest;

class TimedSnippet {
 public:
  // Makes the snippet with this number in the request.
  TimedSnippet(const TimingRequest& request, std::size_t number);
  TimedSnippet(const TimedSnippet&) = delete;

  // Runs the setup, up to the loop; false if it failed.
  bool set_up();

  // Runs so many iterations and returns their seconds, including their work on the device; nothing
  // if the snippet failed.
  std::optional<double> run(std::uint64_t iterations);

  // The time to start, in seconds.
  struct Start {
    double first_result = 0;  // the time until the end of the first run
    double ready = 0;         // the time until the preparation in the first runs is finished
    double ready_cpu = 0;     // the same in CPU seconds, of this process and those it started
  };
  // Sets the snippet up and runs it until it is ready; nothing if that failed. To be called instead
  // of set_up(), in a process that has not run the snippet yet.
  std::optional<Start> start();

  // Leaves the loop, so that the setup's objects are destroyed as usual.
  void finish();

  // The snippet's TorchScript module, from the end of the setup to finish(), or null.
  const void* module() const { return module_; }
  // Called with the module as loaded. To be set before the setup.
  std::function<void(const void* module)> on_module;

  // The reason of the failure, such as an exception's text; empty if it has not failed.
  const std::string& failure() const { return failure_; }
  wire::Message failure_message() const;

  // Adds loaded_files() to a reply.
  void add_files(wire::Message& reply);

 private:
  using Clock = std::chrono::steady_clock;

  // A snippet may switch gradients off for itself: it finds them as it left them.
  bool resume(std::uint64_t iterations);
  void note_files();
  void report(const char* part) const;
  void mark(instr_mark reached);
  void take_module(const void* module);
  void note_end();

  int threads_;
  std::string device_;
  std::size_t number_;
  OnProgress on_progress_;
  std::string files_;  // loaded by now
  const void* module_ = nullptr;
  bool has_gradients_ = true;
  struct Moment {
    Clock::time_point time;
    double cpu_s = 0;
  };
  std::map<instr_mark, Moment> marks_;
  std::unique_ptr<SuspendedCode> code_;
  bool is_at_loop_ = false;
  bool is_over_ = false;
  bool is_definition_error_ = false;
  int line_ = 0;
  std::string failure_;
};

}  // namespace instr
