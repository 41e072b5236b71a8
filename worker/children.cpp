#include "worker/children.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "worker/wire.h"

namespace instr {
namespace {

constexpr int64_t kLookUpMs = 100;  // how often to see whether anyone still wants the result

int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Parent of a process according to /proc; -1 if the process no longer exists.
pid_t parent_of(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  const char* name_end = strrchr(text, ')');  // "pid (name) state parent ..."
  int parent = -1;
  if (name_end == nullptr || sscanf(name_end + 1, " %*c %d", &parent) != 1) return -1;
  return parent;
}

void kill_own_children() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = getpid();
  while (dirent* entry = readdir(processes)) {
    if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (parent_of(pid) == self) kill(pid, SIGKILL);
  }
  closedir(processes);
}

// Kills the rest of a group and all orphans that this process adopted, and their orphans.
void clear_away(pid_t group) {
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

void end_process() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set = child_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

Ended run_in_child(const std::function<void()>& body, int output, int64_t timeout_ms,
                   const std::function<bool()>& is_over, const std::function<bool()>& abandoned,
                   const std::function<bool(pid_t)>& is_too_large) {
  Ended ended;
  pid_t self = getpid();
  int64_t deadline = now_ms() + timeout_ms;
  ended.pid = fork();
  if (ended.pid == 0) be_child(body, output, self);
  if (ended.pid < 0) return ended;
  setpgid(ended.pid, ended.pid);  // in both processes: whichever comes first
  sigset_t set = child_signal();
  for (;;) {
    pid_t changed = waitpid(ended.pid, &ended.status, WNOHANG | WUNTRACED);
    if (changed != 0 && !WIFSTOPPED(ended.status)) break;
    ended.too_large = ended.too_large || (is_too_large && is_too_large(ended.pid));
    if (changed != 0 && is_over()) {
      kill(ended.pid, SIGKILL);
      continue;
    }
    int64_t left = timeout_ms > 0 && !ended.timed_out ? deadline - now_ms() : kLookUpMs;
    if (left <= 0) ended.timed_out = true;
    bool unwanted = abandoned();
    if (ended.timed_out || ended.too_large || unwanted) kill(-ended.pid, SIGKILL);
    if (unwanted) {
      clear_away(ended.pid);
      end_process();
    }
    left = std::clamp<int64_t>(left, 1, kLookUpMs);
    timespec wait{0, static_cast<long>(left * 1'000'000)};
    sigtimedwait(&set, nullptr, &wait);
  }
  clear_away(ended.pid);
  return ended;
}

pid_t fork_server(int fd, const std::function<void()>& serve) {
  signal(SIGCHLD, SIG_IGN);  // it is reaped by the kernel
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
