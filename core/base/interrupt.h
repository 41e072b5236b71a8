// Ctrl-C and SIGTERM as a stop token: the first asks everything to stop, the second ends the
// program with kInterrupted; if there is nothing to keep, the first one does.
#pragma once

#include <stop_token>
#include <thread>

namespace instr {

class Interrupt {
 public:
  // To be made before any thread is started: later ones inherit the blocked signals. One at a time.
  explicit Interrupt(bool at_once);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

// Waits until `fd` is readable or at its end. False if the program was interrupted first; without
// an Interrupt the signal itself ends the program.
bool wait_for_input(int fd);

}  // namespace instr
