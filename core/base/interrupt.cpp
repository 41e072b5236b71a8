#include "core/base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace instr {

namespace {

constexpr int kExitInterrupted = 130;

sigset_t interruptions() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  sigset_t signals = interruptions();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  waiter_ = std::jthread([this](std::stop_token done) {
    sigset_t awaited = interruptions();
    timespec patience{0, 100'000'000};  // how soon the thread sees that it is no longer wanted
    while (!done.stop_requested()) {
      if (sigtimedwait(&awaited, nullptr, &patience) < 0) continue;
      // Workers end by themselves when this process does: their sockets close.
      if (source_.stop_requested()) _exit(kExitInterrupted);
      source_.request_stop();
    }
  });
}

Interrupt::~Interrupt() = default;

}  // namespace instr
