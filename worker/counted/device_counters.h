// What a process has asked of the stand-ins for CUDA's libraries (worker/cuda_host), if they are
// loaded.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace instr {

// In the order of the reply's fields (worker/wire.h).
constexpr size_t kDeviceCounters = 9;

struct DeviceCounters {
  uint64_t of[kDeviceCounters];

  bool operator==(const DeviceCounters& other) const = default;
};

// Returns the counters since the process started; zeros without stand-ins.
DeviceCounters device_counters();

DeviceCounters operator-(const DeviceCounters& left, const DeviceCounters& right);

// Returns the name of the last function that this process called and the stand-ins lack; null if
// there is none.
const char* unsupported_function();

}  // namespace instr
