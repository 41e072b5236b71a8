// The made-up devices. Their figures are public properties of data centre GPUs of three
// generations.
#pragma once

#include <stddef.h>

#include "record.h"

namespace instr::cuda_host {

struct Device {
  const char* name;  // the value of INSTR_CUDA_STAND_IN
  int major;
  int minor;
  int multiprocessors;
  size_t memory_bytes;
  int l2_bytes;
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
  int shared_bytes_per_multiprocessor;
  int shared_bytes_per_block_optin;
  int memory_bus_bits;
  int clock_khz;
  int memory_clock_khz;
};

inline constexpr int kWarpSize = 32;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kMaxBlock[3] = {1024, 1024, 64};
inline constexpr int kMaxGrid[3] = {2147483647, 65535, 65535};
inline constexpr int kSharedBytesPerBlock = 48 << 10;
inline constexpr int kReservedSharedBytesPerBlock = 1 << 10;
inline constexpr int kRegistersPerMultiprocessor = 65536;
inline constexpr int kRegistersPerThread = 32;  // an assumption: the real figure is in the code
inline constexpr int kConstantBytes = 64 << 10;
inline constexpr int kTextureAlignment = 512;

// Returns the device that INSTR_CUDA_STAND_IN names; sm_90 if it is not set.
INSTR_EXPORT const Device& device();

// Has the runtime find no device, or the made-up one again. LibTorch asks once.
CUDA_API void instr_cuda_host_hide(int hidden);
INSTR_EXPORT bool is_device_hidden();

// Sets `value` to a property by its number in CUDA's API; false if the table lacks it.
INSTR_EXPORT bool get_device_attribute(int attribute, int* value);

}  // namespace instr::cuda_host
