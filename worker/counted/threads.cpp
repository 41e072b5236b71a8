// Replaces pthread_create. Callgrind collects by thread, and a new thread begins with collection
// off: in a measurement's process each new thread switches its collection on. Events between blocks
// are discarded when the next block begins (run_snippet.cpp).
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <atomic>
#include <cstddef>

#include "worker/counted/run_snippet.h"

namespace instr {
namespace {

std::atomic<int> started{0};
std::atomic<int> ended{0};

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

struct Start {
  std::atomic<bool> taken{false};
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
};

// Not from the heap: allocations are counted.
constexpr std::size_t kMaxStarting = 1024;
constinit Start starts[kMaxStarting];

Start* take_start() {
  for (Start& start : starts) {
    if (!start.taken.exchange(true)) return &start;
  }
  return nullptr;
}

// Callgrind only has a toggle, and keeps its state by the thread's number, which the next thread
// inherits: collection must be off at the end of a thread, also after pthread_exit() and
// cancellation.
struct CollectionOfThread {
  CollectionOfThread() { CALLGRIND_TOGGLE_COLLECT; }
  ~CollectionOfThread() {
    CALLGRIND_TOGGLE_COLLECT;
    ended.fetch_add(1);  // happens before a join returns
  }
};

void* run_collected(void* argument) {
  auto* start = static_cast<Start*>(argument);
  void* (*function)(void*) = start->function;
  void* function_argument = start->argument;
  start->taken.store(false);
  CollectionOfThread collection;
  return function(function_argument);
}

// True if a thread is running or runnable.
bool is_running(long id) {
  char path[64];
  char text[256];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", id);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* name_end = strrchr(text, ')');  // "id (name) state ..."
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

// True if a thread of this process other than the calling one is running or runnable.
bool has_running_threads() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  bool has_running = false;
  while (dirent* entry = readdir(tasks)) {
    long id = strtol(entry->d_name, nullptr, 10);
    if (id <= 0 || id == syscall(SYS_gettid)) continue;
    has_running = has_running || is_running(id);
  }
  closedir(tasks);
  return has_running;
}

}  // namespace

bool has_live_threads() { return started.load() != ended.load(); }

void settle_threads() {
  constexpr uint64_t kMaxSpinUs = 3'000'000;  // CPU time of the threads until they sleep
  constexpr int kQuietChecks = 2;             // consecutive checks
  static int settled = 0;
  static bool may_settle = true;
  if (!may_settle || settled == started.load()) return;
  settled = started.load();
  const uint64_t begin = used_cpu_us();
  int quiet = 0;
  while (quiet < kQuietChecks && used_cpu_us() - begin < kMaxSpinUs) {
    usleep(20'000);
    quiet = has_running_threads() ? 0 : quiet + 1;
  }
  may_settle = quiet == kQuietChecks;
}

}  // namespace instr

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  static const auto create = reinterpret_cast<instr::Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!instr::runs_snippet()) return create(thread, attributes, function, argument);
  instr::Start* start = instr::take_start();
  if (start == nullptr) return EAGAIN;
  start->function = function;
  start->argument = argument;
  instr::started.fetch_add(1);
  int error = create(thread, attributes, instr::run_collected, start);
  if (error == 0) return 0;
  start->taken.store(false);
  instr::ended.fetch_add(1);
  return error;
}
