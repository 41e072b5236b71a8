// Ctrl-C and SIGTERM as a stop token: the first signal requests a stop, the second ends the program
// with kInterrupted; a program that has nothing to keep ends at the first.
#pragma once

#include <stop_token>
#include <thread>

namespace instr {

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

}  // namespace instr
