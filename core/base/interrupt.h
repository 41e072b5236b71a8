// Ctrl-C and SIGTERM as a stop token: the first asks everything to stop, the second ends at once.
#pragma once

#include <stop_token>
#include <thread>

namespace instr {

class Interrupt {
 public:
  // Before any thread is started: those that come later inherit the blocked signals.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace instr
