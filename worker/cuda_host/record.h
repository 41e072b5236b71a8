// Records what a program asks of CUDA's stand-ins: counters, and a log of events in order. Part of
// libinstr_cuda_host.so, which holds all state of the stand-ins; each stand-in of a library links
// it. Nothing here uses the caller's heap, a clock, random numbers or process ids, so that a
// program executes the same instructions in each run.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define INSTR_EXPORT __attribute__((visibility("default")))
#define CUDA_API extern "C" INSTR_EXPORT

// Counts since the start of the process. Work that is captured into a graph is not counted until
// the graph is launched, which counts as one graph launch.
struct instr_cuda_counters {
  uint64_t launches;
  uint64_t device_copies;
  uint64_t device_copy_bytes;
  uint64_t memsets;
  uint64_t syncs;
  uint64_t library_calls;
  uint64_t device_allocs;
  uint64_t device_alloc_bytes;
  uint64_t event_records;
  uint64_t graph_launches;
  uint64_t unsupported;  // calls that a stand-in cannot answer: a count with any of them is invalid
};

CUDA_API const instr_cuda_counters* instr_cuda_host_counters();

// Switches the log of events on or off, and empties it when switched on.
CUDA_API void instr_cuda_host_log(int on);
// Has Valgrind's log show the callers of the first events of each log, after a line "event N".
CUDA_API void instr_cuda_host_trace(size_t events);
CUDA_API size_t instr_cuda_host_event_count();
// Writes an event as a line of text, "KIND KEY=VALUE... NAME", and returns its length as snprintf
// does; 0 if there is no such event or the log was full. Names of kernels are mangled.
CUDA_API size_t instr_cuda_host_event(size_t index, char* text, size_t size);
// Returns the name of the n-th unsupported function that was called, or null.
CUDA_API const char* instr_cuda_host_unsupported(size_t index);

namespace instr::cuda_host {

// A graph's unit of work, which is not run.
struct Node {
  Node* next;
  Node* dependency;
};

struct Graph {
  Node* nodes;  // the last one first
  size_t size;
};

struct Capture {
  uint64_t id;
  Graph* graph;
  struct Stream* origin;
  bool invalid;  // a function was called that cannot be captured
  Capture* next;
};

struct Stream {
  int number;  // 0 is the default stream; others are numbered as they are created
  unsigned flags;
  int priority;
  Capture* capture;  // null: work is not captured into a graph
  Node* last;        // the node on which the next captured work depends
  Stream* next;
};

enum class EventKind : uint8_t {
  kLaunch,
  kCopy,
  kMemset,
  kSync,
  kLibraryCall,
  kAlloc,
  kFree,
  kEventRecord,
  kStreamWait,
  kGraphLaunch,
  kUnsupported,
};

struct Event {
  EventKind kind;
  Stream* stream = nullptr;    // null: the whole device
  const char* name = nullptr;  // lives as long as the process
  uint64_t size = 0;           // bytes, or nodes of a graph
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t shared_bytes = 0;
};

// Counts an event, or adds it to the graph into which its stream is captured. Adds it to the log.
INSTR_EXPORT void record(const Event& event);

// Records a launch with the three sizes of its grid and of its blocks.
INSTR_EXPORT void record_launch(const char* name, const uint32_t* grid, const uint32_t* block,
                                size_t shared_bytes, void* stream);

// Records a call of a library's function that computes something on the device. Returns 0.
INSTR_EXPORT int record_call(const char* name, Stream* stream);

// Records a function that the stand-in does not support, and returns `error`.
INSTR_EXPORT long record_unsupported(const char* name, long error);

// Returns a text that names the last unsupported function.
INSTR_EXPORT const char* describe_last_error();

// Returns the stream of a handle; small numbers are names of the default stream.
INSTR_EXPORT Stream* find_stream(void* handle);

// Sets an output argument and returns 0, CUDA's success.
template <class T, class Value>
int answer(T* to, Value value) {
  *to = value;
  return 0;
}

}  // namespace instr::cuda_host

// A function that the stand-in does not support. Its arguments are ignored.
#define CUDA_UNSUPPORTED(name, error)                          \
  CUDA_API __attribute__((weak)) long name() {                 \
    return instr::cuda_host::record_unsupported(#name, error); \
  }

// A function that succeeds without an effect: setters, and functions that release something.
#define CUDA_SUCCESS_ONLY(name) \
  CUDA_API int name() { return 0; }

// A function that returns a text about an error.
#define CUDA_TEXT(name)                               \
  CUDA_API __attribute__((weak)) const char* name() { \
    return instr::cuda_host::describe_last_error();   \
  }

// Another name of a function above, which may have fewer arguments.
#define CUDA_ALIAS(name, target) CUDA_API decltype(target) name __attribute__((alias(#target)));
