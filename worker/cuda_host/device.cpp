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

const Device* chosen = &kDevices[1];

__attribute__((constructor)) void choose_device() {
  const char* const name = getenv("INSTR_CUDA_STAND_IN");
  if (name == nullptr || *name == '\0') return;
  for (const Device& device : kDevices) {
    if (strcmp(device.name, name) != 0) continue;
    chosen = &device;
    return;
  }
  fprintf(stderr, "CUDA stand-in: INSTR_CUDA_STAND_IN is '%s'; choose sm_80, sm_90 or sm_100\n",
          name);
  _exit(1);
}

}  // namespace

const Device& device() { return *chosen; }

bool get_device_attribute(int attribute, int* value) {
  const Device& own = *chosen;
  switch (attribute) {
    case 1: *value = kMaxThreadsPerBlock; return true;
    case 2:
    case 3:
    case 4: *value = kMaxBlock[attribute - 2]; return true;
    case 5:
    case 6:
    case 7: *value = kMaxGrid[attribute - 5]; return true;
    case 8: *value = kSharedBytesPerBlock; return true;
    case 9: *value = kConstantBytes; return true;
    case 10: *value = kWarpSize; return true;
    case 12: *value = kRegistersPerMultiprocessor; return true;  // per block
    case 13: *value = own.clock_khz; return true;
    case 14: *value = kTextureAlignment; return true;
    case 16: *value = own.multiprocessors; return true;
    case 31:
    case 32:
    case 41: *value = 1; return true;  // concurrent kernels, ECC, addressing
    case 36: *value = own.memory_clock_khz; return true;
    case 37: *value = own.memory_bus_bits; return true;
    case 38: *value = own.l2_bytes; return true;
    case 39: *value = own.max_threads_per_multiprocessor; return true;
    case 75: *value = own.major; return true;
    case 76: *value = own.minor; return true;
    case 78:
    case 83:
    case 95: *value = 1; return true;  // priorities, managed, cooperative
    case 81: *value = own.shared_bytes_per_multiprocessor; return true;
    case 82: *value = kRegistersPerMultiprocessor; return true;
    case 97: *value = own.shared_bytes_per_block_optin; return true;
    case 106: *value = own.max_blocks_per_multiprocessor; return true;
    case 111: *value = kReservedSharedBytesPerBlock; return true;
    // Memory that is mapped by the driver's functions, pools, and links between devices.
    case 102:
    case 103:
    case 115:
    case 116:
    case 128:
    case 132: *value = 0; return true;
    default: return false;
  }
}

}  // namespace instr::cuda_host
