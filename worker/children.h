// Runs a function in a forked child, and leaves no process behind afterwards.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <functional>
#include <string>

#include "worker/child_output.h"
#include "worker/cpu_watch.h"
#include "worker/snippet_limits.h"

namespace instr {

// Returns the id of this process, also where getpid() is pinned (worker/python/counted).
pid_t own_id();

// Ends this process immediately: no destructors, no waiting for threads.
[[noreturn]] void end_process();

// A snippet may start this many processes: more than a benchmark needs, fewer than harm a machine.
inline constexpr int kMaxProcesses = 128;

struct Ended {
  pid_t pid = -1;  // -1: fork failed, with its errno
  int status = 0;  // waitpid()'s status
  CpuVerdict stopped = CpuVerdict::kGoesOn;
  int64_t limit_ms = 0;           // the limit that was asked for
  int64_t cpu_ms = 0;             // the CPU time, with that of processes that the child waited for
  Excess excess = Excess::kNone;  // includes all processes that it started
  bool too_many = false;          // more than kMaxProcesses with all that it started
  std::string valgrind_words = {};  // Valgrind's last messages about a process that ended by itself

  bool was_stopped() const { return stopped != CpuVerdict::kGoesOn; }
};

// Makes this process adopt orphans among its descendants, and lets it wait for children with a
// timeout. To be called once, before the first run_in_child().
void adopt_orphans();

// Returns what a child (the tree's first process) and those that it started have taken too much of.
using FindExcess = std::function<Excess(const ProcessTree&)>;

// Forks a child that runs `body` in its own process group, with `output` as standard output and
// error, and waits until it ends, or stops and `is_over` is true. Then kills it and all processes
// that it left, including daemons. Does so early once the child and its processes
// - have used the CPU time of `limits` or been idle for as long as these allow,
// - exceed their limits (`find_excess`, also called at the end), or are more than kMaxProcesses.
// If `abandoned` becomes true, kills them and ends this process.
Ended run_in_child(const std::function<void()>& body, ChildOutput& output, const CpuLimits& limits,
                   const std::function<bool()>& is_over, const std::function<bool()>& abandoned,
                   const FindExcess& find_excess = {});

// Forks a process that runs `serve` on the descriptor `fd`, moved to kControlFd, and is killed when
// this process ends. Returns its number, or -1 with errno. Closes `fd`.
pid_t fork_server(int fd, const std::function<void()>& serve);

}  // namespace instr
