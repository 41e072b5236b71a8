// Takes the place of pthread_create. Callgrind collects thread by thread, and a new thread begins
// with collection off: in a measurement's process each new thread switches its own on, once and for
// all. What it does between blocks is discarded at the next block's begin (run.cpp).
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <valgrind/callgrind.h>

#include <atomic>
#include <cstddef>

#include "worker/run.h"

namespace instr {
namespace {

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

// Callgrind has a toggle alone, and keeps its state with the thread's number, which the next thread
// inherits: so it must be off again at the end, pthread_exit() and cancellation included.
struct CollectionOfThread {
  CollectionOfThread() { CALLGRIND_TOGGLE_COLLECT; }
  ~CollectionOfThread() { CALLGRIND_TOGGLE_COLLECT; }
};

void* run_collected(void* argument) {
  auto* start = static_cast<Start*>(argument);
  void* (*function)(void*) = start->function;
  void* function_argument = start->argument;
  start->taken.store(false);
  CollectionOfThread collection;
  return function(function_argument);
}

}  // namespace
}  // namespace instr

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  static const auto create = reinterpret_cast<instr::Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!instr::counts_new_threads()) return create(thread, attributes, function, argument);
  instr::Start* start = instr::take_start();
  if (start == nullptr) return EAGAIN;
  start->function = function;
  start->argument = argument;
  instr::note_new_thread();
  int error = create(thread, attributes, instr::run_collected, start);
  if (error != 0) start->taken.store(false);
  return error;
}
