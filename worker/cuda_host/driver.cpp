// Stands in for CUDA's driver, as far as torch calls it directly, and Triton's launcher.
#include "device.h"
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

constexpr int kNotSupported = 801;

struct Function {
  const char* name;
};

// The public structure CUlaunchConfig, without its attributes.
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  void* stream;
};

char context;  // the handle of the only context is its address

int launch(const Function* function, const LaunchConfig& config) {
  record_launch(function->name, config.grid, config.block, config.shared_bytes, config.stream);
  return 0;
}

}  // namespace

CUDA_SUCCESS_ONLY(cuInit)
CUDA_API int cuDriverGetVersion(int* version) { return answer(version, INSTR_CUDA_VERSION); }
CUDA_API int cuDeviceGetCount(int* count) { return answer(count, 1); }
CUDA_API int cuDeviceGet(int* device, int index) {
  *device = index;
  return index == 0 ? 0 : 101;  // CUDA_ERROR_INVALID_DEVICE
}
CUDA_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  if (get_device_attribute(attribute, value)) return 0;
  return static_cast<int>(record_unsupported(__func__, kNotSupported));
}
CUDA_API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  return answer(active, 1);
}
CUDA_API int cuCtxGetCurrent(void** to) { return answer(to, &context); }
CUDA_ALIAS(cuDevicePrimaryCtxRetain, cuCtxGetCurrent)
CUDA_API int cuCtxGetDevice(int* device) { return cuDeviceGet(device, 0); }
CUDA_SUCCESS_ONLY(cuCtxSetCurrent)
// The runtime keeps the streams.
CUDA_API int cudaStreamIsCapturing(void* stream, int* status);
CUDA_API int cuStreamIsCapturing(void* stream, int* status) {
  return cudaStreamIsCapturing(stream, status);
}
CUDA_API int cuGetErrorString(int, const char** text) {
  return answer(text, describe_last_error());
}

CUDA_API int cuLogsRegisterCallback(void*, void*, void** handle) { return cuCtxGetCurrent(handle); }
CUDA_SUCCESS_ONLY(cuLogsUnregisterCallback)

// Compiled code is not looked at: a module is any non-null handle.
CUDA_API int cuModuleLoadData(void** module, const void*) { return cuCtxGetCurrent(module); }
CUDA_ALIAS(cuModuleLoadDataEx, cuModuleLoadData)
CUDA_ALIAS(cuModuleLoad, cuModuleLoadData)
CUDA_SUCCESS_ONLY(cuModuleUnload)
CUDA_API int cuModuleGetFunction(Function** function, void*, const char* name) {
  *function = create<Function>();
  return answer(&(*function)->name, keep_text(name));
}
CUDA_API int cuFuncGetAttribute(int* value, int attribute, Function*) {
  constexpr int kMaxThreads = 0, kRegisters = 4;
  return answer(value, attribute == kMaxThreads  ? kMaxThreadsPerBlock
                       : attribute == kRegisters ? kRegistersPerThread
                                                 : 0);
}
CUDA_SUCCESS_ONLY(cuFuncSetAttribute)
CUDA_SUCCESS_ONLY(cuFuncSetCacheConfig)
CUDA_API int cuLaunchKernel(Function* function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                            uint32_t block_x, uint32_t block_y, uint32_t block_z,
                            uint32_t shared_bytes, void* stream, void**, void**) {
  return launch(function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream});
}
CUDA_ALIAS(cuLaunchCooperativeKernel, cuLaunchKernel)
CUDA_API int cuLaunchKernelEx(const LaunchConfig* config, Function* function, void**, void**) {
  return launch(function, *config);
}
CUDA_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function*, int threads,
                                                         size_t) {
  return answer(blocks, device().max_threads_per_multiprocessor / (threads > 0 ? threads : 1));
}
CUDA_API int cuPointerGetAttribute(void* value, int attribute, void* address) {
  constexpr int kDevicePointer = 3;
  if (!is_device_address(address) && !is_pinned_address(address)) return 1;
  if (attribute != kDevicePointer)
    return static_cast<int>(record_unsupported(__func__, kNotSupported));
  return answer(static_cast<void**>(value), address);
}
CUDA_API int cuTensorMapEncodeTiled(void* map) {
  constexpr size_t kTensorMapBytes = 128;
  fill_memory(map, 0, kTensorMapBytes);
  return 0;
}
CUDA_ALIAS(cuTensorMapEncodeIm2col, cuTensorMapEncodeTiled)

// Triton links these, too.
CUDA_UNSUPPORTED(cuCtxGetLimit, kNotSupported)
CUDA_UNSUPPORTED(cuCtxSetLimit, kNotSupported)
CUDA_UNSUPPORTED(cuOccupancyMaxActiveClusters, kNotSupported)
