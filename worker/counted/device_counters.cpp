#include "worker/counted/device_counters.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "worker/cuda_host/record.h"

namespace instr {
namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

const instr_cuda_counters* counters() {
  static const auto ask = find<const instr_cuda_counters*()>("instr_cuda_host_counters");
  return ask == nullptr ? nullptr : ask();
}

// More would take long.
constexpr size_t kMaxTraced = 100;

bool write_events(int file, size_t end) {
  static const auto describe = find<size_t(size_t, char*, size_t)>("instr_cuda_host_event");
  char line[4096];
  for (size_t i = 0; i < end; ++i) {
    const size_t size = std::min(describe(i, line, sizeof line - 1), sizeof line - 2);
    line[size] = '\n';
    if (write(file, line, size + 1) != static_cast<ssize_t>(size + 1)) return false;
  }
  return true;
}

}  // namespace

void show_device(bool is_shown) {
  const auto hide = find<void(int)>("instr_cuda_host_hide");
  if (hide != nullptr) hide(is_shown ? 0 : 1);
}

void note_device_events(bool with_callers) {
  static const auto log = find<void(int)>("instr_cuda_host_log");
  static const auto trace = find<void(size_t)>("instr_cuda_host_trace");
  if (log == nullptr || trace == nullptr) return;
  trace(with_callers ? kMaxTraced : 0);
  log(1);
}

bool write_device_events(const char* path, uint64_t iterations) {
  static const auto count_events = find<size_t()>("instr_cuda_host_event_count");
  if (count_events == nullptr || iterations == 0) return false;
  const size_t count = count_events();
  if (count % iterations != 0) return false;
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool is_written = write_events(file, count / iterations);
  return close(file) == 0 && is_written;
}

DeviceCounters device_counters() {
  const instr_cuda_counters* now = counters();
  if (now == nullptr) return {};
  return {{now->launches, now->device_copies, now->device_copy_bytes, now->syncs,
           now->library_calls, now->device_allocs, now->device_alloc_bytes, now->event_records,
           now->graph_launches}};
}

DeviceCounters operator-(const DeviceCounters& left, const DeviceCounters& right) {
  DeviceCounters difference{};
  for (size_t i = 0; i < kDeviceCounters; ++i) difference.of[i] = left.of[i] - right.of[i];
  return difference;
}

const char* unsupported_function() {
  const instr_cuda_counters* now = counters();
  if (now == nullptr || now->unsupported == 0) return nullptr;
  static const auto name = find<const char*(size_t)>("instr_cuda_host_unsupported");
  return name == nullptr ? nullptr : name(now->unsupported - 1);
}

}  // namespace instr
