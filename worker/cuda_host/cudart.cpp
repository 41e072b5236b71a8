// Stands in for CUDA's runtime library, of CUDA 12 and 13 (INSTR_CUDA_VERSION). One made-up device,
// which is always idle: kernels do nothing, copies copy, everything has finished when it is asked.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "device.h"
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2, kInvalidConfiguration = 9,
              kInvalidFunction = 98, kNoDevice = 100, kInvalidDevice = 101, kNoPeerAccess = 217,
              kInvalidHandle = 400, kSymbolNotFound = 500, kNotRegistered = 713,
              kNotSupported = 801, kNotCapturable = 900, kCaptureInvalid = 901,
              kCaptureUnmatched = 903;

// The names and texts of errors are those that callers search for.
constexpr struct NamedError {
  int number;
  const char* name;
  const char* text;
} kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {kInvalidFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kNoPeerAccess, "cudaErrorPeerAccessUnsupported", "peer access is not supported"},
    {kInvalidHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotRegistered, "cudaErrorHostMemoryNotRegistered", "memory is not registered"},
    {kNotCapturable, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {kCaptureInvalid, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {kCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "the capture did not begin here"},
};

const NamedError* find_error(int number) {
  for (const NamedError& error : kErrors)
    if (error.number == number) return &error;
  return nullptr;
}

thread_local int last_error = kSuccess;

int fail(long error) { return last_error = static_cast<int>(error); }

// Parts that CUDA 12 or CUDA 13 alone has.
#if INSTR_CUDA_VERSION < 13000
#define CUDA12(...) __VA_ARGS__
#define CUDA13(...)
#else
#define CUDA12(...)
#define CUDA13(...) __VA_ARGS__
#endif

// --- Kernels and variables, registered by the code that nvcc generates ---

struct Dim3 {
  unsigned x, y, z;
};

// A kernel or a variable by the address of its handle on the host.
struct Symbol {
  const void* host;
  const char* name;
  void* device;  // null: a kernel
  size_t size;
};

constexpr size_t kMaxSymbols = 1 << 18;
Symbol symbols[kMaxSymbols];
bool symbols_locked = false;

// Returns the place of a symbol, or the free place where it belongs.
Symbol& find_place(const void* host) {
  size_t at = (reinterpret_cast<uintptr_t>(host) >> 4) * 0x9E3779B97F4A7C15u;
  for (at >>= 40;; ++at) {
    Symbol& symbol = symbols[at % kMaxSymbols];
    if (symbol.host == host || symbol.host == nullptr) return symbol;
  }
}

// Finds a kernel from its host address or from a handle that cudaGetKernel() returned.
const Symbol* find_kernel(const void* function) {
  const auto* const symbol = static_cast<const Symbol*>(function);
  if (symbol >= symbols && symbol < symbols + kMaxSymbols) return symbol;
  const Symbol& place = find_place(function);
  return place.host != nullptr ? &place : nullptr;
}

// The public structure cudaLaunchConfig_t, without its attributes.
struct LaunchConfig {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};
// Pushed by the code that nvcc generates for kernel<<<...>>>().
thread_local LaunchConfig pushed;

int launch(const void* function, const LaunchConfig& config) {
  const Symbol* const kernel = find_kernel(function);
  if (kernel == nullptr) return fail(kInvalidFunction);
  const auto& [grid, block, shared_bytes, stream] = config;
  const size_t threads = size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreadsPerBlock || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > static_cast<unsigned>(kMaxGrid[1]) || grid.z > static_cast<unsigned>(kMaxGrid[2])) {
    return fail(kInvalidConfiguration);
  }
  record_launch(kernel->name, &grid.x, &block.x, shared_bytes, stream);
  return kSuccess;
}

// --- Streams, events and captures ---

struct CudaEvent {
  uint64_t capture;  // the id of the capture in which it was recorded, or 0
  Node* node;
};

Stream* streams = nullptr;
int stream_count = 0;
Capture* captures = nullptr;
uint64_t capture_count = 0;
bool streams_locked = false;
thread_local int capture_mode = 0;

// Waits for a stream, or for the whole device, which has always finished its work.
int synchronize(Stream* stream, const char* function) {
  Capture* const capture = stream != nullptr ? stream->capture : captures;
  if (capture != nullptr && (stream != nullptr || capture_mode == 0)) {
    capture->invalid = true;
    return fail(kNotCapturable);
  }
  record({EventKind::kSync, stream, function});
  return kSuccess;
}

// Sets those of the outputs that are asked for.
int get_capture_info(void* handle, int* status, uint64_t* id = nullptr, Graph** graph = nullptr,
                     Node*** dependencies = nullptr, size_t* count = nullptr) {
  Stream* const stream = find_stream(handle);
  const Capture* const capture = stream->capture;
  *status = capture == nullptr ? 0 : capture->invalid ? 2 : 1;
  if (capture == nullptr) return kSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  if (dependencies != nullptr) *dependencies = &stream->last;
  if (count != nullptr) *count = stream->last != nullptr ? 1 : 0;
  return kSuccess;
}

// --- Copies ---

void record_copy(const void* to, const void* from, size_t size, Stream* stream) {
  static constexpr const char* kDirections[] = {"host-to-host", "host-to-device", "device-to-host",
                                                "device-to-device"};
  const int direction = (is_device_address(to) ? 1 : 0) + (is_device_address(from) ? 2 : 0);
  record({EventKind::kCopy, stream, kDirections[direction], size});
}

int copy(void* to, const void* from, size_t size, Stream* stream) {
  record_copy(to, from, size, stream);
  if (stream->capture == nullptr) copy_memory(to, from, size);
  return kSuccess;
}

// --- Properties ---

// The public structure cudaDeviceProp, as far as its fields have values here: their order is part
// of the ABI. The array of textures and surfaces stands for many fields of one type.
struct DeviceProperties {
  char name[256], uuid[16], luid[8];
  unsigned luid_device_node_mask = 0;
  size_t total_memory = device().memory_bytes, shared_per_block = kSharedBytesPerBlock;
  int registers_per_block = kRegistersPerMultiprocessor, warp_size = kWarpSize;
  size_t memory_pitch = 0x7FFFFFFF;
  int max_threads_per_block = kMaxThreadsPerBlock;
  int max_block[3] = {kMaxBlock[0], kMaxBlock[1], kMaxBlock[2]};
  int max_grid[3] = {kMaxGrid[0], kMaxGrid[1], kMaxGrid[2]};
  CUDA12(int clock_rate = device().clock_khz;)
  size_t constant_memory = kConstantBytes;
  int major = device().major, minor = device().minor;
  size_t texture_alignment = kTextureAlignment, texture_pitch_alignment = kWarpSize;
  CUDA12(int device_overlap = 1;)
  int multiprocessors = device().multiprocessors;
  CUDA12(int execution_timeout = 0;)
  int integrated = 0, can_map_host_memory = 1;
  CUDA12(int compute_mode = 0;)
  int textures_and_surfaces[39 CUDA12(+1)] = {};
  size_t surface_alignment = kTextureAlignment;
  int concurrent_kernels = 1, ecc = 1, pci_bus = 1, pci_device = 0, pci_domain = 0, tcc_driver = 0;
  int async_engines = 3, unified_addressing = 1;
  CUDA12(int memory_clock_rate = device().memory_clock_khz;)
  int memory_bus_width = device().memory_bus_bits, l2_bytes = device().l2_bytes;
  int persisting_l2_bytes = 0;
  int max_threads_per_multiprocessor = device().max_threads_per_multiprocessor;
  int stream_priorities = 1, global_l1_cache = 1, local_l1_cache = 1;
  size_t shared_per_multiprocessor = static_cast<size_t>(device().shared_bytes_per_multiprocessor);
  int registers_per_multiprocessor = kRegistersPerMultiprocessor, managed_memory = 0;
  int is_multi_gpu_board = 0, multi_gpu_board_group = 0, host_native_atomics = 0;
  CUDA12(int single_to_double_ratio = 2;)
  int pageable_access = 0, concurrent_managed_access = 0, compute_preemption = 1;
  int host_pointer_for_registered = 1, cooperative_launch = 1;
  CUDA12(int cooperative_multi_device_launch = 0;)
  size_t shared_per_block_optin = static_cast<size_t>(device().shared_bytes_per_block_optin);
  int pageable_uses_host_tables = 0, direct_managed_access = 0;
  int max_blocks_per_multiprocessor = device().max_blocks_per_multiprocessor;
  int access_policy_window = 0;
  size_t reserved_shared_per_block = kReservedSharedBytesPerBlock;
};

// The first fields of the public structure cudaPointerAttributes.
struct PointerAttributes {
  int kind;  // 0 unregistered, 1 host, 2 device
  int device;
  void* device_pointer;
  void* host_pointer;
};

// The first fields of the public structure cudaFuncAttributes.
struct FunctionAttributes {
  size_t shared_bytes = 0, constant_bytes = 0, local_bytes = 0;
  int max_threads_per_block = kMaxThreadsPerBlock, registers = kRegistersPerThread;
  int ptx_version = 10 * device().major + device().minor, binary_version = ptx_version;
  int cache_mode = 0, max_dynamic_shared_bytes = kSharedBytesPerBlock, shared_carveout = 0;
  int needs_cluster = 0;
};

// Functions of the driver that have no stand-in: their names are known when they are looked up.
constexpr size_t kMaxUnsupported = 128;
const char* unsupported_names[kMaxUnsupported];

template <size_t index>
long call_unsupported() {
  return record_unsupported(unsupported_names[index], kNotSupported);
}

template <size_t... indices>
void* make_unsupported(const char* name, std::index_sequence<indices...>) {
  static constexpr long (*kFunctions[])() = {call_unsupported<indices>...};
  size_t at = 0;
  while (at < kMaxUnsupported && unsupported_names[at] != nullptr &&
         strcmp(unsupported_names[at], name) != 0) {
    ++at;
  }
  if (at == kMaxUnsupported) return nullptr;
  if (unsupported_names[at] == nullptr) unsupported_names[at] = keep_text(name);
  return reinterpret_cast<void*>(kFunctions[at]);
}

// Returns a function that reports that the stand-in does not support `name`.
void* make_unsupported(const char* name) {
  return make_unsupported(name, std::make_index_sequence<kMaxUnsupported>());
}

}  // namespace

// --- The library's functions, in groups as above ---

CUDA_API void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
CUDA_API void __cudaRegisterFatBinaryEnd(void**) {}
CUDA_API void __cudaUnregisterFatBinary(void**) {}
CUDA_API char __cudaInitModule(void**) { return 1; }

CUDA_API void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*,
                                     void*, void*, void*, int*) {
  const SpinLock lock(symbols_locked);
  find_place(host) = {host, name, nullptr, 0};
}
CUDA_API void __cudaRegisterVar(void**, char* host, char*, const char* name, int, size_t size, int,
                                int) {
  const SpinLock lock(symbols_locked);
  find_place(host) = {host, name, nullptr, size};
}

CUDA_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes,
                                              void* stream) {
  pushed = {grid, block, shared_bytes, stream};
  return 0;
}
CUDA_API int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes,
                                        void** stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  return answer(stream, pushed.stream);
}

CUDA_API int __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = find_kernel(host);
  return *kernel != nullptr ? kSuccess : fail(kInvalidFunction);
}
CUDA_API int cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void**,
                              size_t shared_bytes, void* stream) {
  return launch(kernel, {grid, block, shared_bytes, stream});
}
CUDA_ALIAS(__cudaLaunchKernel, cudaLaunchKernel)
CUDA_ALIAS(cudaLaunchCooperativeKernel, cudaLaunchKernel)
CUDA_API int cudaLaunchKernelExC(const LaunchConfig* config, const void* kernel, void**) {
  return launch(kernel, *config);
}

CUDA_API int cudaGetSymbolAddress(void** address, const void* host) {
  Symbol& symbol = find_place(host);
  if (symbol.host == nullptr || symbol.size == 0) return fail(kSymbolNotFound);
  const SpinLock lock(symbols_locked);
  if (symbol.device == nullptr) symbol.device = allocate_memory(MemoryKind::kDevice, symbol.size);
  *address = symbol.device;
  return symbol.device != nullptr ? kSuccess : fail(kMemoryAllocation);
}

CUDA_API int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  if (find_kernel(host) == nullptr) return fail(kInvalidFunction);
  return answer(attributes, FunctionAttributes{});
}
CUDA_SUCCESS_ONLY(cudaFuncSetAttribute)
CUDA_SUCCESS_ONLY(cudaKernelSetAttributeForDevice)

CUDA_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                           size_t shared_bytes) {
  if (threads <= 0) return fail(kInvalidValue);
  const Device& own = device();
  const size_t each = shared_bytes + kReservedSharedBytesPerBlock;
  const auto by_shared = static_cast<int>(own.shared_bytes_per_multiprocessor / each);
  const int by_threads = own.max_threads_per_multiprocessor / threads;
  return answer(blocks, std::min({by_threads, by_shared, own.max_blocks_per_multiprocessor}));
}
CUDA_ALIAS(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor)

CUDA_API int cudaStreamCreateWithPriority(void** handle, unsigned flags, int priority) {
  const SpinLock lock(streams_locked);
  auto* const stream = create<Stream>();
  *stream = {++stream_count, flags, priority, nullptr, nullptr, streams};
  streams = stream;
  return answer(handle, stream);
}
CUDA_API int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
CUDA_API int cudaStreamCreate(void** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
CUDA_API int cudaStreamDestroy(void* handle) {
  const SpinLock lock(streams_locked);
  for (Stream** at = &streams; *at != nullptr; at = &(*at)->next) {
    if (*at != handle) continue;
    *at = (*at)->next;
    return destroy(static_cast<Stream*>(handle));
  }
  return fail(kInvalidHandle);
}
CUDA_API int cudaStreamGetPriority(void* stream, int* priority) {
  return answer(priority, find_stream(stream)->priority);
}
CUDA_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  return answer(greatest, -5);
}
CUDA_API int cudaStreamSynchronize(void* stream) {
  return synchronize(find_stream(stream), __func__);
}
CUDA_API int cudaDeviceSynchronize() { return synchronize(nullptr, __func__); }
CUDA_API int cudaStreamQuery(void* stream) {
  return find_stream(stream)->capture == nullptr ? kSuccess : fail(kNotCapturable);
}
CUDA_API int cudaStreamWaitEvent(void* handle, const CudaEvent* event, unsigned) {
  Stream* const stream = find_stream(handle);
  Capture* capture = captures;
  while (capture != nullptr && capture->id != event->capture) capture = capture->next;
  if (capture != nullptr && stream->capture == nullptr) {
    stream->capture = capture;
    stream->last = event->node;
  }
  record({EventKind::kStreamWait, stream, __func__});
  return kSuccess;
}
CUDA_API int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  if (find_stream(stream)->capture == nullptr) function(data);
  return kSuccess;
}
CUDA_API int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                   unsigned) {
  function(stream, kSuccess, data);
  return kSuccess;
}

CUDA_API int cudaEventCreate(CudaEvent** event) { return answer(event, create<CudaEvent>()); }
CUDA_ALIAS(cudaEventCreateWithFlags, cudaEventCreate)
CUDA_API int cudaEventDestroy(CudaEvent* event) { return destroy(event); }
CUDA_API int cudaEventRecord(CudaEvent* event, void* handle) {
  Stream* const stream = find_stream(handle);
  record({EventKind::kEventRecord, stream, __func__});
  const uint64_t capture = stream->capture != nullptr ? stream->capture->id : 0;
  return answer(event, CudaEvent{capture, stream->last});
}
CUDA_ALIAS(cudaEventRecordWithFlags, cudaEventRecord)
CUDA_API int cudaEventSynchronize(CudaEvent*) {
  record({EventKind::kSync, nullptr, __func__});
  return kSuccess;
}
CUDA_SUCCESS_ONLY(cudaEventQuery)
CUDA_API int cudaEventElapsedTime(float* ms, CudaEvent*, CudaEvent*) { return answer(ms, 0.0f); }
CUDA_ALIAS(cudaEventElapsedTime_v2, cudaEventElapsedTime)

CUDA_API int cudaThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(capture_mode, *mode);
  return kSuccess;
}
CUDA_API int cudaStreamBeginCapture(void* handle, int) {
  Stream* const stream = find_stream(handle);
  if (stream->number == 0) return fail(kNotCapturable);
  const SpinLock lock(streams_locked);
  auto* const capture = create<Capture>();
  *capture = {++capture_count, create<Graph>(), stream, false, captures};
  stream->last = nullptr;
  stream->capture = captures = capture;
  return kSuccess;
}
CUDA_API int cudaStreamEndCapture(void* handle, Graph** graph) {
  Stream* const stream = find_stream(handle);
  Capture* const capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) return fail(kCaptureUnmatched);
  const SpinLock lock(streams_locked);
  for (Stream* other = streams; other != nullptr; other = other->next)
    if (other->capture == capture) other->capture = nullptr;
  Capture** at = &captures;
  while (*at != capture) at = &(*at)->next;
  *at = capture->next;
  const bool invalid = capture->invalid;
  *graph = invalid ? nullptr : capture->graph;
  destroy(capture);
  return invalid ? fail(kCaptureInvalid) : kSuccess;
}
CUDA_API int cudaStreamIsCapturing(void* stream, int* status) {
  return get_capture_info(stream, status);
}
CUDA_API int cudaStreamGetCaptureInfo_v2(void* stream, int* status, uint64_t* id, Graph** graph,
                                         Node*** dependencies, size_t* count) {
  return get_capture_info(stream, status, id, graph, dependencies, count);
}
CUDA_API int cudaStreamGetCaptureInfo_v3(void* stream, int* status, uint64_t* id, Graph** graph,
                                         Node*** dependencies, const void** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return get_capture_info(stream, status, id, graph, dependencies, count);
}
CUDA13(CUDA_ALIAS(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3))
CUDA12(CUDA_API int cudaStreamGetCaptureInfo(void* stream, int* status, uint64_t* id) {
  return get_capture_info(stream, status, id);
})
// The stream depends on the last of these nodes; the flag 1 replaces its earlier dependencies.
CUDA_API int cudaStreamUpdateCaptureDependencies(void* stream, Node** nodes,
                                                 CUDA13(const void*, ) size_t count,
                                                 unsigned flags) {
  if (count > 0 || flags == 1) find_stream(stream)->last = count > 0 ? nodes[count - 1] : nullptr;
  return kSuccess;
}

CUDA_API int cudaGraphGetNodes(Graph* graph, const void* nodes, size_t* count) {
  if (nodes == nullptr) return answer(count, graph->size);
  return fail(record_unsupported(__func__, kNotSupported));
}
CUDA_API int cudaGraphInstantiateWithFlags(Graph** executable, Graph* graph, uint64_t) {
  return answer(*executable = create<Graph>(), Graph{nullptr, graph->size});
}
CUDA_ALIAS(cudaGraphInstantiate, cudaGraphInstantiateWithFlags)
CUDA_API int cudaGraphLaunch(Graph* graph, void* stream) {
  record({EventKind::kGraphLaunch, find_stream(stream), __func__, graph->size});
  return kSuccess;
}
CUDA_API int cudaGraphDestroy(Graph* graph) {
  while (Node* const node = graph->nodes) {
    graph->nodes = node->next;
    destroy(node);
  }
  return destroy(graph);
}
CUDA_ALIAS(cudaGraphExecDestroy, cudaGraphDestroy)

CUDA_API int cudaMalloc(void** address, size_t size) {
  *address = allocate_memory(MemoryKind::kDevice, size);
  if (*address == nullptr) return fail(kMemoryAllocation);
  record({EventKind::kAlloc, nullptr, __func__, size});
  return kSuccess;
}
CUDA_API int cudaFree(void* address) {
  if (address == nullptr) return kSuccess;
  record({EventKind::kFree, nullptr, __func__});
  return free_memory(MemoryKind::kDevice, address) ? kSuccess : fail(kInvalidValue);
}
CUDA_API int cudaHostAlloc(void** address, size_t size, unsigned) {
  *address = allocate_memory(MemoryKind::kPinned, size);
  return *address != nullptr ? kSuccess : fail(kMemoryAllocation);
}
CUDA_ALIAS(cudaMallocHost, cudaHostAlloc)
CUDA_API int cudaFreeHost(void* address) {
  if (address == nullptr) return kSuccess;
  return free_memory(MemoryKind::kPinned, address) ? kSuccess : fail(kInvalidValue);
}
CUDA_API int cudaHostRegister(void* begin, size_t size, unsigned) {
  register_pinned(begin, size);
  return kSuccess;
}
CUDA_API int cudaHostUnregister(void* begin) {
  return unregister_pinned(begin) ? kSuccess : fail(kNotRegistered);
}
CUDA_API int cudaHostGetDevicePointer(void** address, void* host, unsigned) {
  return answer(address, host);
}
CUDA_API int cudaMemGetInfo(size_t* free, size_t* total) {
  *free = count_free_device_bytes();
  return answer(total, device().memory_bytes);
}
CUDA_API int cudaPointerGetAttributes(PointerAttributes* attributes, void* address) {
  if (is_device_address(address))
    return answer(attributes, PointerAttributes{2, 0, address, nullptr});
  if (is_pinned_address(address))
    return answer(attributes, PointerAttributes{1, 0, address, address});
  return answer(attributes, PointerAttributes{0, -1, nullptr, address});
}

CUDA_API int cudaMemcpyAsync(void* to, const void* from, size_t size, int, void* stream) {
  return copy(to, from, size, find_stream(stream));
}
CUDA_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size, void* stream) {
  return copy(to, from, size, find_stream(stream));
}
CUDA_API int cudaMemcpy(void* to, const void* from, size_t size, int) {
  copy(to, from, size, find_stream(nullptr));
  return synchronize(find_stream(nullptr), __func__);
}
CUDA_API int cudaMemcpyToSymbol(const void* host, const void* from, size_t size, size_t offset,
                                int) {
  void* address = nullptr;
  if (const int error = cudaGetSymbolAddress(&address, host)) return error;
  return cudaMemcpy(static_cast<char*>(address) + offset, from, size, 0);
}
CUDA_API int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                               size_t width, size_t height, int, void* handle) {
  Stream* const stream = find_stream(handle);
  if (width > to_pitch || width > from_pitch) return fail(kInvalidValue);
  record_copy(to, from, width * height, stream);
  for (size_t row = 0; row < height && stream->capture == nullptr; ++row) {
    copy_memory(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width);
  }
  return kSuccess;
}
CUDA_API int cudaMemsetAsync(void* to, int value, size_t size, void* handle) {
  Stream* const stream = find_stream(handle);
  record({EventKind::kMemset, stream, "memset", size});
  if (stream->capture == nullptr) fill_memory(to, value, size);
  return kSuccess;
}
CUDA_API int cudaMemset(void* to, int value, size_t size) {
  return cudaMemsetAsync(to, value, size, nullptr);
}

CUDA_API int cudaGetDeviceCount(int* count) {
  *count = is_device_hidden() ? 0 : 1;
  return is_device_hidden() ? fail(kNoDevice) : kSuccess;
}
CUDA_API int cudaGetDevice(int* index) { return answer(index, 0); }
CUDA_API int cudaSetDevice(int index) { return index == 0 ? kSuccess : fail(kInvalidDevice); }
CUDA_API int cudaGetDeviceProperties(DeviceProperties* properties, int index) {
  if (index != 0) return fail(kInvalidDevice);
  *properties = DeviceProperties{};
  snprintf(properties->name, sizeof properties->name, "stand-in %s", device().name);
  snprintf(properties->uuid, sizeof properties->uuid, "stand-in %s", device().name);
  return kSuccess;
}
CUDA_ALIAS(cudaGetDeviceProperties_v2, cudaGetDeviceProperties)
CUDA_API int cudaDeviceGetAttribute(int* value, int attribute, int index) {
  if (index != 0) return fail(kInvalidDevice);
  if (get_device_attribute(attribute, value)) return kSuccess;
  return fail(record_unsupported(__func__, kNotSupported));
}
CUDA_API int cudaDeviceGetPCIBusId(char* text, int size, int) {
  snprintf(text, static_cast<size_t>(size), "0000:01:00.0");
  return kSuccess;
}
CUDA_API int cudaDeviceCanAccessPeer(int* can, int, int) { return answer(can, 0); }
CUDA_API int cudaDeviceEnablePeerAccess(int, unsigned) { return fail(kNoPeerAccess); }
CUDA_API int cudaRuntimeGetVersion(int* version) { return answer(version, INSTR_CUDA_VERSION); }
CUDA_ALIAS(cudaDriverGetVersion, cudaRuntimeGetVersion)
CUDA_SUCCESS_ONLY(cudaProfilerStart)
CUDA_SUCCESS_ONLY(cudaProfilerStop)

CUDA_API int cudaGetLastError() { return std::exchange(last_error, kSuccess); }
CUDA_API int cudaPeekAtLastError() { return last_error; }
CUDA_API const char* cudaGetErrorString(int error) {
  const NamedError* const known = find_error(error);
  return known != nullptr ? known->text : describe_last_error();
}
CUDA_API const char* cudaGetErrorName(int error) {
  const NamedError* const known = find_error(error);
  return known != nullptr ? known->name : "cudaErrorNotSupported";
}
CUDA_API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, uint64_t,
                                              int* status) {
  *function = dlsym(RTLD_DEFAULT, name);
  if (*function == nullptr) *function = make_unsupported(name);
  return answer(status, *function != nullptr ? 0 : 1);  // 1: the symbol was not found
}
CUDA_API int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags,
                                     int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, status);
}
