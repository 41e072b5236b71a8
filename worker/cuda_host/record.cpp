#include "record.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"

namespace instr::cuda_host {
namespace {

constexpr size_t kMaxEvents = 1 << 20;
constexpr size_t kMaxUnsupported = 256;

// An event of the log: the stream may be destroyed before the log is read.
struct LoggedEvent {
  Event event;
  int stream;
  bool captured;
};

instr_cuda_counters counters;
LoggedEvent events[kMaxEvents];
size_t event_count = 0;
size_t traced_count = 0;  // the number of events whose callers are written, the first ones
bool log_on = false;
const char* unsupported[kMaxUnsupported];
char last_error[256] = "no error";
Stream default_stream{};

void add(uint64_t& counter, uint64_t value = 1) {
  __atomic_fetch_add(&counter, value, __ATOMIC_RELAXED);
}

void count(const Event& event) {
  switch (event.kind) {
    case EventKind::kLaunch: add(counters.launches); break;
    case EventKind::kCopy:
      add(counters.device_copies);
      add(counters.device_copy_bytes, event.size);
      break;
    case EventKind::kMemset: add(counters.memsets); break;
    case EventKind::kSync: add(counters.syncs); break;
    case EventKind::kLibraryCall: add(counters.library_calls); break;
    case EventKind::kAlloc:
      add(counters.device_allocs);
      add(counters.device_alloc_bytes, event.size);
      break;
    case EventKind::kEventRecord: add(counters.event_records); break;
    case EventKind::kGraphLaunch: add(counters.graph_launches); break;
    case EventKind::kUnsupported:  // record_unsupported() counts it
    case EventKind::kFree:
    case EventKind::kStreamWait: break;
  }
}

void capture(const Event& event) {
  if (event.kind == EventKind::kEventRecord || event.kind == EventKind::kStreamWait) return;
  Graph& graph = *event.stream->capture->graph;
  auto* const node = create<Node>();
  *node = {graph.nodes, event.stream->last};
  event.stream->last = graph.nodes = node;
  ++graph.size;
}

const char* name_of(EventKind kind) {
  static constexpr const char* kNames[] = {"launch", "copy",  "memset",     "sync",
                                           "call",   "alloc", "free",       "event",
                                           "wait",   "graph", "unsupported"};
  return kNames[static_cast<size_t>(kind)];
}

// Has Valgrind write a line and the functions that led here to its log. A client request, as the
// manual of Valgrind describes them: without Valgrind, it does nothing.
void print_backtrace(const char* format, ...) {
  constexpr uint64_t kPrintBacktrace = 0x1404;
  __builtin_va_list values;
  __builtin_va_start(values, format);
  volatile uint64_t request[6] = {kPrintBacktrace, reinterpret_cast<uint64_t>(format),
                                  reinterpret_cast<uint64_t>(&values)};
  volatile uint64_t result = 0;
  asm volatile(
      "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
      : "=d"(result)
      : "a"(&request[0]), "0"(result)
      : "cc", "memory");
  __builtin_va_end(values);
}

}  // namespace

void record(const Event& event) {
  const bool captured = event.stream != nullptr && event.stream->capture != nullptr;
  if (captured) {
    capture(event);
  } else {
    count(event);
  }
  if (!log_on) return;
  const size_t index = __atomic_fetch_add(&event_count, 1, __ATOMIC_RELAXED);
  if (index >= kMaxEvents) return;
  if (index < traced_count) print_backtrace("event %lu\n", index);
  events[index] = {event, event.stream != nullptr ? event.stream->number : -1, captured};
}

void record_launch(const char* name, const uint32_t* grid, const uint32_t* block,
                   size_t shared_bytes, void* stream) {
  record({EventKind::kLaunch,
          find_stream(stream),
          name,
          0,
          {grid[0], grid[1], grid[2]},
          {block[0], block[1], block[2]},
          static_cast<uint32_t>(shared_bytes)});
}

int record_call(const char* name, Stream* stream) {
  record({EventKind::kLibraryCall, stream, name});
  return 0;
}

long record_unsupported(const char* name, long error) {
  const uint64_t index = __atomic_fetch_add(&counters.unsupported, 1, __ATOMIC_RELAXED);
  if (index < kMaxUnsupported) unsupported[index] = name;
  record({EventKind::kUnsupported, nullptr, name});
  snprintf(last_error, sizeof last_error, "not supported by the stand-in: %s", name);
  return error;
}

const char* describe_last_error() { return last_error; }

Stream* find_stream(void* handle) {
  constexpr uintptr_t kMaxSpecialHandle = 2;  // cudaStreamLegacy and cudaStreamPerThread
  if (reinterpret_cast<uintptr_t>(handle) <= kMaxSpecialHandle) return &default_stream;
  return static_cast<Stream*>(handle);
}

}  // namespace instr::cuda_host

using namespace instr::cuda_host;

const instr_cuda_counters* instr_cuda_host_counters() { return &counters; }

void instr_cuda_host_log(int on) {
  if (on != 0) event_count = 0;
  log_on = on != 0;
}

void instr_cuda_host_trace(size_t events) { traced_count = events; }

size_t instr_cuda_host_event_count() { return event_count; }

size_t instr_cuda_host_event(size_t index, char* text, size_t size) {
  if (index >= event_count || index >= kMaxEvents) return 0;
  const auto& [event, stream, captured] = events[index];
  char details[128] = "";
  if (event.kind == EventKind::kLaunch) {
    snprintf(details, sizeof details, " grid=%u,%u,%u block=%u,%u,%u shared=%u", event.grid[0],
             event.grid[1], event.grid[2], event.block[0], event.block[1], event.block[2],
             event.shared_bytes);
  } else if (event.kind == EventKind::kGraphLaunch) {
    snprintf(details, sizeof details, " nodes=%zu", static_cast<size_t>(event.size));
  } else if (event.size != 0) {
    snprintf(details, sizeof details, " bytes=%zu", static_cast<size_t>(event.size));
  }
  char place[32] = "";
  if (stream >= 0) snprintf(place, sizeof place, " stream=%d", stream);
  const int length = snprintf(text, size, "%s%s%s%s %s", captured ? "captured-" : "",
                              name_of(event.kind), place, details, event.name);
  return static_cast<size_t>(length);
}

const char* instr_cuda_host_unsupported(size_t index) {
  return index < kMaxUnsupported && index < counters.unsupported ? unsupported[index] : nullptr;
}
