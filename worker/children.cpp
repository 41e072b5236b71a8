#include "worker/children.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "worker/wire.h"

namespace instr {
namespace {

constexpr int64_t kMaxPauseMs = 100;  // the pause between checks that the result is still wanted

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

int64_t to_ms(const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; }

// Waits for so long, or until a child changes its state.
void pause_for(int64_t ms) {
  const timespec wait{0, static_cast<long>(ms * 1'000'000)};
  const sigset_t set = child_signal();
  sigtimedwait(&set, nullptr, &wait);
}

void kill_own_children() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = getpid();
  while (dirent* entry = readdir(processes)) {
    if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    const auto stat = read_stat(pid);
    if (stat && stat->parent == self) kill(pid, SIGKILL);
  }
  closedir(processes);
}

// The child and all processes that it started, including orphans, which this process has adopted.
ProcessTree tree_below(pid_t self, pid_t child) {
  ProcessTree tree;
  tree.add(child);
  tree.add_children_of(self);
  tree.add_descendants();
  return tree;
}

// Kills the rest of a group and all orphans that this process adopted, and their orphans.
void kill_rest(pid_t group) {
  for (;;) {
    pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return;
    if (reaped > 0) continue;
    kill(-group, SIGKILL);
    kill_own_children();
    pause_for(5);
  }
}

[[noreturn]] void be_child(const std::function<void()>& body, ChildOutput& output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) end_process();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  output.become_standard();
  sigset_t set = child_signal();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  body();
  end_process();
}

constexpr std::string_view kWhat = "\n  what():  ";  // precedes an uncaught exception's message

// Returns ": " and the line with the reason: the first of an uncaught exception's message, which a
// stack trace may follow, else the last line.
std::string find_reason(const std::string& output) {
  std::size_t end = output.find_last_not_of("\r\n");
  if (end == std::string::npos) return "";
  const std::size_t what = output.rfind(kWhat);
  if (what != std::string::npos) {
    const std::size_t begin = what + kWhat.size();
    return ": " + output.substr(begin, output.find('\n', begin) - begin);
  }
  std::size_t begin = output.find_last_of('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return ": " + output.substr(begin, end + 1 - begin);
}

}  // namespace

pid_t own_id() { return static_cast<pid_t>(syscall(SYS_getpid)); }

void end_process() {
  kill(own_id(), SIGKILL);
  for (;;) pause();
}

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set = child_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Ended run_in_child(const std::function<void()>& body, ChildOutput& output, const CpuLimits& limits,
                   const std::function<bool()>& is_over, const std::function<bool()>& abandoned,
                   const FindExcess& find_excess) {
  Ended ended;
  ended.limit_ms = limits.idle_ms;
  pid_t self = getpid();
  std::optional<CpuWatch> watch;
  if (limits.cpu_ms != INT64_MAX) watch.emplace(limits, now_ms());
  int64_t next_look = watch ? now_ms() + watch->interval_ms() : INT64_MAX;
  ended.pid = fork();
  if (ended.pid == 0) be_child(body, output, self);
  if (ended.pid < 0) return ended;
  setpgid(ended.pid, ended.pid);  // the child does it, too: either may run first
  for (;;) {
    rusage used{};
    pid_t changed = wait4(ended.pid, &ended.status, WNOHANG | WUNTRACED, &used);
    if (changed > 0) ended.cpu_ms = to_ms(used.ru_utime) + to_ms(used.ru_stime);
    if (changed < 0) ended.status = SIGKILL;  // unknown, so no success
    if (changed != 0 && !WIFSTOPPED(ended.status)) break;
    const ProcessTree tree = tree_below(self, ended.pid);
    if (find_excess && ended.excess == Excess::kNone) ended.excess = find_excess(tree);
    if (changed != 0 && is_over()) {
      kill(ended.pid, SIGKILL);
      continue;
    }
    ended.too_many = ended.too_many || tree.size() > kMaxProcesses;
    if (now_ms() >= next_look && ended.stopped == CpuVerdict::kGoesOn) {
      ended.stopped = watch->look(now_ms(), tree.use());
      next_look = now_ms() + watch->interval_ms();
    }
    const bool unwanted = abandoned();
    if (ended.was_stopped() || ended.excess != Excess::kNone || ended.too_many || unwanted) {
      kill(-ended.pid, SIGKILL);
    }
    if (unwanted) {
      kill_rest(ended.pid);
      end_process();
    }
    const int64_t until_look = std::clamp<int64_t>(next_look - now_ms(), 1, kMaxPauseMs);
    pause_for(output.drain() ? 1 : until_look);  // a child that prints much waits for this process
  }
  kill_rest(ended.pid);
  output.drain();
  return ended;
}

pid_t fork_server(int fd, const std::function<void()>& serve) {
  signal(SIGCHLD, SIG_IGN);  // the kernel reaps the new process
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) end_process();
    signal(SIGCHLD, SIG_DFL);
    dup2(fd, wire::kControlFd);
    close(fd);
    fcntl(wire::kControlFd, F_SETFD, FD_CLOEXEC);
    serve();
    end_process();
  }
  close(fd);
  return pid;
}

wire::Message failed(const char* kind, const std::string& message) {
  return {"failed", {{"kind", kind}, {"message", message}}};
}

wire::Message crashed(int signal, bool stack_overflow) {
  std::string what = stack_overflow ? "stack overflow" : sigdescr_np(signal);
  return failed("crashed", std::string("SIG") + sigabbrev_np(signal) + ": " + what);
}

wire::Message exited(int status) {
  return failed("exited",
                "the snippet ended the process with exit status " + std::to_string(status));
}

std::optional<wire::Message> find_cause(const Ended& ended, uint64_t memory_limit) {
  if (ended.excess != Excess::kNone) {
    return failed("out_of_memory", describe_excess(ended.excess, memory_limit));
  }
  if (ended.too_many) {
    return failed("aborted", "the snippet started more than " + std::to_string(kMaxProcesses) +
                                 " processes, and was ended with all of them");
  }
  if (!ended.was_stopped()) return std::nullopt;
  return failed("timed_out", stopped_text(ended.stopped, ended.limit_ms));
}

wire::Message ended_early(int status, const std::string& output) {
  if (WIFEXITED(status)) return exited(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  if (signal == SIGXFSZ) {
    return failed("out_of_memory",
                  "the snippet wrote a file that is larger than its memory may be");
  }
  if (signal == SIGABRT) return failed("aborted", "the snippet aborted" + find_reason(output));
  const bool is_overflow = output.find(kStackOverflow) != std::string::npos;
  if (signal != SIGKILL) return crashed(signal, signal == SIGSEGV && is_overflow);
  return failed("crashed", "SIGKILL: killed from outside; was the machine out of memory?");
}

}  // namespace instr
