// Runs something in a forked child and makes sure that nothing of it remains afterwards.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <functional>

#include "worker/cpu_watch.h"

namespace instr {

// Ends this process immediately: no destructors, no waiting for threads.
[[noreturn]] void end_process();

// A snippet may start this many processes: more than any needs, and fewer than harm a machine.
inline constexpr int kMaxProcesses = 128;

struct Ended {
  pid_t pid = -1;                            // -1: it could not be forked, errno says why
  int status = 0;                            // as of waitpid
  CpuVerdict stopped = CpuVerdict::kGoesOn;  // why it was stopped, by the limit below
  int64_t limit_ms = 0;
  bool too_large = false;
  bool too_many = false;  // it and what it started were more than kMaxProcesses

  bool was_stopped() const { return stopped != CpuVerdict::kGoesOn; }
};

// Makes this process adopt orphans among its descendants, and allows waiting for children with a
// timeout. Once, before the first run_in_child().
void adopt_orphans();

// Forks; the child runs `body` in a process group of its own, with `output` as standard output and
// error, and ends, or stops with `is_over` true from then on. Waits for that until it and what it
// started have used `limit_ms` of CPU time (0: no limit) or been idle for as long, then kills it
// and whatever it left running, including daemons; the same once `is_too_large` is true for it,
// which is also checked when it is over, or once there are more than kMaxProcesses. If `abandoned`
// becomes true, kills all and ends this process.
Ended run_in_child(const std::function<void()>& body, int output, int64_t limit_ms,
                   const std::function<bool()>& is_over, const std::function<bool()>& abandoned,
                   const std::function<bool(pid_t)>& is_too_large = {});

// Forks a process that runs `serve` on the descriptor `fd`, moved to kControlFd, and is killed when
// this one ends; returns its number, or -1 if it could not be forked (errno says why). Takes `fd`.
pid_t fork_server(int fd, const std::function<void()>& serve);

}  // namespace instr
