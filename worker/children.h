// Runs a function in a forked child, leaves no process behind afterwards, and makes the reply about
// a measurement whose process failed.
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "worker/cpu_watch.h"
#include "worker/snippet_confines.h"
#include "worker/wire.h"

namespace instr {

// The output of a child: a pipe that its parent empties, of which it keeps the end. A file in
// memory would take as much as the child likes to write. Does not use the heap while the child
// runs: a host's heap must not depend on how much a child printed.
class ChildOutput {
 public:
  ChildOutput() {
    // Bytes. If the system allows fewer, the pipe has the usual 64 KiB.
    constexpr int kCapacity = 1 << 20;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    from_child_ = ends[0];
    to_parent_ = ends[1];
    fcntl(from_child_, F_SETFL, O_NONBLOCK);
    fcntl(to_parent_, F_SETPIPE_SZ, kCapacity);
  }
  ~ChildOutput() {
    if (!is_open()) return;
    close(from_child_);
    close(to_parent_);
  }
  ChildOutput(const ChildOutput&) = delete;
  ChildOutput& operator=(const ChildOutput&) = delete;

  bool is_open() const { return from_child_ >= 0; }

  // Makes the pipe the standard output and error of this process, the child. Leaves open the same
  // descriptors as a file would, whose numbers a snippet sees.
  void become_standard() {
    dup2(to_parent_, 1);
    dup2(to_parent_, 2);
    dup3(to_parent_, from_child_, O_CLOEXEC);
    close(to_parent_);
  }

  // Has a child that nobody empties the pipe of lose what does not fit in, instead of waiting.
  void drop_excess() { fcntl(to_parent_, F_SETFL, O_NONBLOCK); }

  // Takes what the child has printed so far; false if there was nothing.
  bool drain() {
    bool has_printed = false;
    char bytes[16 * 1024];
    for (ssize_t size; (size = read(from_child_, bytes, sizeof bytes)) > 0;) {
      keep(bytes, static_cast<std::size_t>(size));
      has_printed = true;
    }
    return has_printed;
  }

  // The last 4 KiB that were drained.
  std::string text() const { return {end_, size_}; }

 private:
  static constexpr std::size_t kMaxKept = 4096;

  void keep(const char* bytes, std::size_t size) {
    if (size > kMaxKept) {
      bytes += size - kMaxKept;
      size = kMaxKept;
    }
    const std::size_t before = std::min(size_, kMaxKept - size);
    memmove(end_, end_ + size_ - before, before);
    memcpy(end_ + before, bytes, size);
    size_ = before + size;
  }

  int from_child_ = -1;
  int to_parent_ = -1;
  std::size_t size_ = 0;
  char end_[kMaxKept];
};

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

// Makes a reply about a failed measurement. `kind`: a name of core's FailureKind.
wire::Message failed(const char* kind, const std::string& message);

wire::Message crashed(int signal, bool stack_overflow);
wire::Message exited(int status);

// The failure of a statement that leaves the measured loop.
inline constexpr const char* kLeftEarly =
    "the statement leaves its loop before its iterations are over, as by longjmp(): it must end as "
    "it began";

// The native worker writes this to the snippet's output before a stack overflow ends it.
inline constexpr const char* kStackOverflow = "instr_bench: stack overflow";

// Returns the failure of a snippet whose host ended it; nothing if it ended by itself.
std::optional<wire::Message> find_cause(const Ended& ended, uint64_t memory_limit);

// The process ended before it reported a result. `status` is waitpid()'s, `output` the snippet's.
wire::Message ended_early(int status, const std::string& output);

}  // namespace instr
