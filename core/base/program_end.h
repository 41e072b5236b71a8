// How the program ends: its exit status, which scripts rely on, at Ctrl-C or SIGTERM, and after an
// unforeseen exception, with a line on standard error and a documented status.
#pragma once

#include <stop_token>
#include <thread>

#include "core/base/error.h"

namespace instr {

enum ExitStatus {
  kGood = 0,
  kNotMeasured = 1,  // something could not be measured
  kBadSetup = 2,     // usage, definitions or setup; results that cannot be compared
  kRegression = 3,   // a metric is beyond its limit
  kInterrupted = 130,
  kReaderLeft = 141,  // standard output was closed early, as by `head`; as SIGPIPE elsewhere
};

// A command returns its status, or the errors that kept it from its work.
using ExpectedStatus = tl::expected<int, Errors>;

// Reports the errors on standard error; returns kBadSetup.
ExitStatus refuse(const Errors& errors);

// Ctrl-C and SIGTERM as a stop token: the first signal requests a stop, the second ends the program
// with kInterrupted; a program that has nothing to keep ends at the first.
class Interrupt {
 public:
  // To be made before any thread is started, since threads inherit the blocked signals; only one at
  // a time. `at_once`: the first signal ends the program.
  explicit Interrupt(bool at_once);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

// Waits until `fd` is readable or at its end. Returns false if the program was interrupted first;
// without an Interrupt the signal itself ends the program.
bool wait_for_input(int fd);

// Makes an exception that escapes a thread end the process immediately, with the status `failed`.
void end_with_last_resort(int failed);

// Reports the exception that is being handled on standard error.
void report_exception() noexcept;

// Returns the result of `program`, or `failed` if an exception escapes it. A template, since a
// std::function may itself need memory.
template <class Program>
int with_last_resort(int failed, const Program& program) {
  end_with_last_resort(failed);
  try {
    return program();
  } catch (...) {
    report_exception();
    return failed;
  }
}

}  // namespace instr
