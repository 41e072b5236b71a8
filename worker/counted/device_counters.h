// Reads the counters of the stand-ins for CUDA's libraries (worker/cuda_host), if they are loaded.
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

// Has LibTorch find a device, or none. To be called before LibTorch asks.
void show_device(bool is_shown);

// Has the stand-ins note what they are asked for, from here on. `with_callers`: the callers of the
// first requests are written to Valgrind's log.
void note_device_events(bool with_callers);

// Writes what was noted in the first of `iterations` iterations to a file, a line for each event.
// Does not use the heap, whose state affects the snippet. Returns false if it could not be written,
// or if the iterations did not ask for as many things each.
bool write_device_events(const char* path, uint64_t iterations);

// Returns the name of the last function that this process called and the stand-ins lack; null if
// there is none.
const char* unsupported_function();

}  // namespace instr
