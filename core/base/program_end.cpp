#include "core/base/program_end.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "core/base/output.h"
#include "core/base/private_folder.h"
#include "core/base/process.h"

namespace instr {

namespace {

sigset_t interruptions() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

// An event of the process, as signals are; readable from the first interruption on.
int interruption() {
  static const Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return event.get();
}

int terminate_status = kBadSetup;

[[noreturn]] void end_process() {
  static bool is_ending = false;
  if (std::exchange(is_ending, true)) ::_exit(terminate_status);
  if (std::current_exception()) report_exception();
  PrivateFolder::remove_all();
  ::_exit(terminate_status);
}

}  // namespace

Interrupt::Interrupt(bool at_once) {
  interruption();
  sigset_t signals = interruptions();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  waiter_ = std::jthread([this, at_once](std::stop_token done) {
    sigset_t awaited = interruptions();
    for (int signal = 0; sigwait(&awaited, &signal) == 0 && !done.stop_requested();) {
      // As SIGHUP is below nohup; a blocked signal arrives all the same.
      if (is_ignored(signal)) continue;
      // Workers end by themselves when this process does: their sockets close.
      if (at_once || source_.stop_requested()) {
        PrivateFolder::remove_all();
        _exit(kInterrupted);
      }
      const std::uint64_t count = 1;
      [[maybe_unused]] ssize_t written = ::write(interruption(), &count, sizeof count);
      source_.request_stop();
    }
  });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  pthread_kill(waiter_.native_handle(), SIGINT);  // ends sigwait()
}

bool wait_for_input(int fd) {
  for (;;) {
    pollfd watch[2] = {{interruption(), POLLIN, 0}, {fd, POLLIN, 0}};
    if (::poll(watch, 2, -1) < 0 && errno != EINTR) return true;  // the read reports the error
    if (watch[0].revents != 0) return false;
    if (watch[1].revents != 0) return true;
  }
}

void end_with_last_resort(int failed) {
  terminate_status = failed;
  std::set_terminate(end_process);
}

void report_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    print_message("error: there is not enough memory\n");
  } catch (const std::exception& error) {
    print_message("error: internal error: please report it: " + std::string(error.what()) + "\n");
  } catch (...) {
    print_message("error: internal error: please report it\n");
  }
}

}  // namespace instr
