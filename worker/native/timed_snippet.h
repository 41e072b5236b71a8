// A snippet that is timed: runs its setup and blocks, and keeps how it failed. The CPU time that
// others than this process use meanwhile.
#pragma once

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/cpu_watch.h"
#include "worker/native/native_code.h"
#include "worker/wire.h"

namespace instr {

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Returns the CPU seconds of this process and its descendants. Those of living descendants count in
// ticks of 10 ms.
inline double cpu_seconds_of_tree() {
  rusage ended{};
  getrusage(RUSAGE_CHILDREN, &ended);
  ProcessTree living;
  living.add_children_of(getpid());
  living.add_descendants();
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) + seconds_of(ended.ru_utime) +
         seconds_of(ended.ru_stime) + static_cast<double>(living.use().cpu_ms) * 1e-3;
}

// Returns the CPU seconds of all processes: the first line of /proc/stat. Guests, which follow, are
// included in users already.
inline std::optional<double> cpu_seconds_of_machine() {
  std::ifstream stat("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, disk = 0, irq = 0, soft_irq = 0, stolen = 0;
  stat >> name >> user >> nice >> system >> idle >> disk >> irq >> soft_irq >> stolen;
  if (!stat || name != "cpu") return std::nullopt;
  return (user + nice + system + irq + soft_irq + stolen) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The machine's use by others than this process and its descendants since this was made.
class MachineUse {
 public:
  // The average number of cores, including those that other virtual machines took; nothing if the
  // kernel does not report it. It counts in ticks of 10 ms.
  std::optional<double> others() const {
    const auto all = cpu_seconds_of_machine();
    const double elapsed = seconds_of(CLOCK_MONOTONIC) - start_;
    if (!all || !all_ || elapsed <= 0) return std::nullopt;
    return std::max(0.0, *all - *all_ - (cpu_seconds_of_tree() - own_)) / elapsed;
  }

 private:
  const double start_ = seconds_of(CLOCK_MONOTONIC);
  const double own_ = cpu_seconds_of_tree();
  const std::optional<double> all_ = cpu_seconds_of_machine();
};

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
