#include "worker/children.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "worker/wire.h"

namespace instr {
namespace {

constexpr int64_t kMaxPauseMs = 100;  // between checks that the result is still wanted

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
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
    timespec wait{0, 5'000'000};
    sigset_t set = child_signal();
    sigtimedwait(&set, nullptr, &wait);
  }
}

[[noreturn]] void be_child(const std::function<void()>& body, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) end_process();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  dup2(output, 1);
  dup2(output, 2);
  sigset_t set = child_signal();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  body();
  end_process();
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

Ended run_in_child(const std::function<void()>& body, int output, int64_t limit_ms,
                   const std::function<bool()>& is_over, const std::function<bool()>& abandoned,
                   const std::function<bool(pid_t)>& is_too_large) {
  Ended ended;
  ended.limit_ms = limit_ms;
  pid_t self = getpid();
  std::optional<CpuWatch> watch;
  if (limit_ms > 0) watch.emplace(CpuLimits{limit_ms, limit_ms}, now_ms());
  int64_t next_look = watch ? now_ms() + watch->interval_ms() : INT64_MAX;
  ended.pid = fork();
  if (ended.pid == 0) be_child(body, output, self);
  if (ended.pid < 0) return ended;
  setpgid(ended.pid, ended.pid);  // the child does it, too: either may run first
  sigset_t set = child_signal();
  for (;;) {
    pid_t changed = waitpid(ended.pid, &ended.status, WNOHANG | WUNTRACED);
    if (changed != 0 && !WIFSTOPPED(ended.status)) break;
    ended.too_large = ended.too_large || (is_too_large && is_too_large(ended.pid));
    if (changed != 0 && is_over()) {
      kill(ended.pid, SIGKILL);
      continue;
    }
    const ProcessTree tree = tree_below(self, ended.pid);
    ended.too_many = ended.too_many || tree.size() > kMaxProcesses;
    if (now_ms() >= next_look && ended.stopped == CpuVerdict::kGoesOn) {
      ended.stopped = watch->look(now_ms(), tree.use());
      next_look = now_ms() + watch->interval_ms();
    }
    const bool unwanted = abandoned();
    if (ended.was_stopped() || ended.too_large || ended.too_many || unwanted) {
      kill(-ended.pid, SIGKILL);
    }
    if (unwanted) {
      kill_rest(ended.pid);
      end_process();
    }
    const int64_t pause_ms = std::clamp<int64_t>(next_look - now_ms(), 1, kMaxPauseMs);
    timespec wait{0, static_cast<long>(pause_ms * 1'000'000)};
    sigtimedwait(&set, nullptr, &wait);
  }
  kill_rest(ended.pid);
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

}  // namespace instr
