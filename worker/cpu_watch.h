// Limits of a process's work. A limit is CPU time, not elapsed time, so that a result does not
// depend on the machine's other load; a process that does nothing for as long is idle. Shared by
// worker and coordinator. Does not use the heap: a host's heap must not depend on how often it
// checked a process.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

namespace instr {

// A process or thread, as its `stat` in /proc describes it.
struct ProcessStat {
  pid_t parent = 0;
  char state = '?';
  int64_t cpu_ms = 0;  // including that of children it has waited for
};

inline std::optional<ProcessStat> parse_stat(const char* text) {
  ProcessStat stat;
  long own_user, own_system, user, system;
  // The name, which may contain anything, ends at the last parenthesis.
  const char* name_end = strrchr(text, ')');
  constexpr int kFields = 6;
  if (name_end == nullptr ||
      sscanf(name_end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld",
             &stat.state, &stat.parent, &own_user, &own_system, &user, &system) != kFields) {
    return std::nullopt;
  }
  stat.cpu_ms = (own_user + own_system + user + system) * 1000 / sysconf(_SC_CLK_TCK);
  return stat;
}

// Reads the start of a file into `text`; false if it cannot be read or is empty.
template <std::size_t size>
bool read_small(const char* path, char (&text)[size]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t count = read(fd, text, size - 1);
  close(fd);
  text[std::max<ssize_t>(count, 0)] = '\0';
  return count > 0;
}

inline std::optional<ProcessStat> read_stat(const char* folder) {
  char path[64];
  char text[1024];
  snprintf(path, sizeof path, "%s/stat", folder);
  if (!read_small(path, text)) return std::nullopt;
  return parse_stat(text);
}

inline std::optional<ProcessStat> read_stat(pid_t pid) {
  char folder[32];
  snprintf(folder, sizeof folder, "/proc/%d", pid);
  return read_stat(folder);
}

// Visits the entries of a folder that are numbers, such as threads or descriptors.
template <class Visit>
void visit_numbers(const char* path, Visit visit) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(dirent64) char entries[4096];
  for (ssize_t size; (size = getdents64(folder, entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      char* end;
      const long number = strtol(entry->d_name, &end, 10);
      if (end != entry->d_name && *end == '\0') visit(static_cast<int>(number));
      at += entry->d_reclen;
    }
  }
  close(folder);
}

struct CpuUse {
  int64_t cpu_ms = 0;     // the CPU time so far
  bool has_work = false;  // a thread runs, or waits for a CPU or a disk
};

// Processes and their descendants, at most kMaxProcesses.
class ProcessTree {
 public:
  void add(pid_t pid) {
    pid_t* const end = processes_ + count_;
    if (count_ < kMaxProcesses && std::find(processes_, end, pid) == end)
      processes_[count_++] = pid;
  }

  void add_descendants() {
    for (int i = 0; i < count_; ++i) add_children_of(processes_[i]);
  }

  void add_children_of(pid_t pid) {
    visit_threads(pid, [this, pid](int thread) {
      char path[64];
      char text[4096];
      snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
      if (!read_small(path, text)) return;
      char* at = text;
      long child = strtol(at, &at, 10);
      while (child != 0) {
        add(static_cast<pid_t>(child));
        child = strtol(at, &at, 10);
      }
    });
  }

  int size() const { return count_; }
  pid_t process(int index) const { return processes_[index]; }

  CpuUse use() const {
    CpuUse use;
    for (int i = 0; i < count_; ++i) {
      const auto stat = read_stat(processes_[i]);
      if (stat) use.cpu_ms += stat->cpu_ms;
      visit_threads(processes_[i], [this, i, &use](int thread) {
        char folder[48];
        snprintf(folder, sizeof folder, "/proc/%d/task/%d", processes_[i], thread);
        const char state = read_stat(folder).value_or(ProcessStat{}).state;
        use.has_work = use.has_work || state == 'R' || state == 'D';
      });
    }
    return use;
  }

 private:
  static constexpr int kMaxProcesses = 512;

  template <class Visit>
  static void visit_threads(pid_t pid, Visit visit) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    visit_numbers(path, visit);
  }

  pid_t processes_[kMaxProcesses];
  int count_ = 0;
};

inline CpuUse cpu_use_of_tree(pid_t pid) {
  ProcessTree tree;
  tree.add(pid);
  tree.add_descendants();
  return tree.use();
}

inline CpuUse cpu_use_of_process(pid_t pid) {
  ProcessTree tree;
  tree.add(pid);
  return tree.use();
}

inline int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

enum class CpuVerdict { kGoesOn, kUsedUp, kIdle };

struct CpuLimits {
  int64_t cpu_ms = INT64_MAX;
  int64_t idle_ms = INT64_MAX;
};

// Decides whether a process may go on, from its CPU use at each look.
//
// A process is idle while it uses less than a tenth of a CPU and none of its threads is runnable: a
// process that polls is idle, a process that waits for a CPU on a busy machine is not. The watcher
// looks every interval_ms(): time without a look, since the watcher itself was stopped or got no
// CPU, is not idle time.
class CpuWatch {
 public:
  CpuWatch(const CpuLimits& limits, int64_t now_ms, const CpuUse& before = {})
      : limits_(limits), last_look_ms_(now_ms), last_cpu_ms_(before.cpu_ms) {}

  int64_t interval_ms() const {
    return std::clamp<int64_t>(std::min(limits_.cpu_ms, limits_.idle_ms) / 10, 10, 1000);
  }

  int64_t used_ms() const { return used_ms_; }

  CpuVerdict look(int64_t now_ms, const CpuUse& use) {
    watched_ms_ += std::clamp<int64_t>(now_ms - last_look_ms_, 0, 2 * interval_ms());
    last_look_ms_ = now_ms;
    // The time of a process whose parent does not wait for it disappears with the process.
    used_ms_ += std::max<int64_t>(use.cpu_ms - last_cpu_ms_, 0);
    last_cpu_ms_ = use.cpu_ms;
    const int64_t allowance = (watched_ms_ - idle_since_ms_) / 10;
    if (use.has_work || used_ms_ - used_then_ms_ > allowance) {
      idle_since_ms_ = watched_ms_;
      used_then_ms_ = used_ms_;
    }
    if (used_ms_ >= limits_.cpu_ms) return CpuVerdict::kUsedUp;
    const bool is_idle = watched_ms_ - idle_since_ms_ >= limits_.idle_ms;
    return is_idle ? CpuVerdict::kIdle : CpuVerdict::kGoesOn;
  }

 private:
  const CpuLimits limits_;
  int64_t last_look_ms_;
  int64_t last_cpu_ms_;
  int64_t watched_ms_ = 0;
  int64_t used_ms_ = 0;
  int64_t idle_since_ms_ = 0;  // a time on the watcher's clock
  int64_t used_then_ms_ = 0;
};

// "stopped after 2 s of CPU time"
inline std::string stopped_text(CpuVerdict verdict, int64_t limit_ms) {
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%g s", static_cast<double>(limit_ms) / 1000);
  if (verdict == CpuVerdict::kIdle) return std::string("stopped after being idle for ") + seconds;
  return std::string("stopped after ") + seconds + " of CPU time";
}

}  // namespace instr
