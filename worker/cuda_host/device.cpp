#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace instr::cuda_host {
namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr int kKiB = 1 << 10;
constexpr int kMiB = 1 << 20;

constexpr Device kDevices[] = {
    {"sm_80", 8, 0, 108, 80 * kGiB, 40 * kMiB, 2048, 32, 164 * kKiB, 163 * kKiB, 5120, 1'410'000,
     1'593'000},
    {"sm_90", 9, 0, 132, 80 * kGiB, 50 * kMiB, 2048, 32, 228 * kKiB, 227 * kKiB, 5120, 1'980'000,
     2'619'000},
    {"sm_100", 10, 0, 148, 180 * kGiB, 126 * kMiB, 2048, 32, 228 * kKiB, 227 * kKiB, 8192,
     1'965'000, 3'996'000},
};

bool hidden = false;

const Device& choose_device() {
  const char* const name = getenv("INSTR_CUDA_STAND_IN");
  for (const Device& device : kDevices)
    if (strcmp(device.name, name != nullptr && *name != '\0' ? name : "sm_90") == 0) return device;
  fprintf(stderr, "CUDA stand-in: INSTR_CUDA_STAND_IN is '%s'; choose sm_80, sm_90 or sm_100\n",
          name);
  _exit(1);
}

}  // namespace

const Device& device() {
  static const Device* chosen = nullptr;
  if (chosen == nullptr) chosen = &choose_device();
  return *chosen;
}

void instr_cuda_host_hide(int hide) { hidden = hide != 0; }

bool is_device_hidden() { return hidden; }

bool get_device_attribute(int attribute, int* value) {
  const Device& own = device();
  // Numbers of attributes, each followed by its value. The last three are about memory that the
  // driver's functions map, memory pools and multicast.
  const int known[] = {1,   kMaxThreadsPerBlock,
                       2,   kMaxBlock[0],
                       3,   kMaxBlock[1],
                       4,   kMaxBlock[2],
                       5,   kMaxGrid[0],
                       6,   kMaxGrid[1],
                       7,   kMaxGrid[2],
                       8,   kSharedBytesPerBlock,
                       9,   kConstantBytes,
                       10,  kWarpSize,
                       12,  kRegistersPerMultiprocessor,
                       13,  own.clock_khz,
                       14,  kTextureAlignment,
                       16,  own.multiprocessors,
                       31,  1,
                       36,  own.memory_clock_khz,
                       37,  own.memory_bus_bits,
                       38,  own.l2_bytes,
                       39,  own.max_threads_per_multiprocessor,
                       41,  1,
                       75,  own.major,
                       76,  own.minor,
                       78,  1,
                       81,  own.shared_bytes_per_multiprocessor,
                       82,  kRegistersPerMultiprocessor,
                       95,  1,
                       97,  own.shared_bytes_per_block_optin,
                       106, own.max_blocks_per_multiprocessor,
                       111, kReservedSharedBytesPerBlock,
                       102, 0,
                       115, 0,
                       132, 0};
  for (size_t at = 0; at < sizeof known / sizeof *known; at += 2) {
    if (known[at] != attribute) continue;
    *value = known[at + 1];
    return true;
  }
  return false;
}

}  // namespace instr::cuda_host
