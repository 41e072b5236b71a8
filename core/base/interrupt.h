// Ctrl-C and SIGTERM as a stop token: the first asks everything to stop, the second ends the
// program with kInterrupted; the first one does if there is nothing to be kept.
#pragma once

#include <stop_token>
#include <thread>

namespace instr {

class Interrupt {
 public:
  // Before any thread is started: those that come later inherit the blocked signals. One at a time.
  explicit Interrupt(bool at_once);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

// Waits until `fd` can be read, or what it reads from has ended. False if the program was
// interrupted first; without an Interrupt the signal itself ends the program.
bool wait_for_input(int fd);

}  // namespace instr
