#include "worker/counted/device_counters.h"

#include <dlfcn.h>

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

}  // namespace

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
