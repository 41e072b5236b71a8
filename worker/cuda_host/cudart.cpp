// Stands in for CUDA's runtime library, of CUDA 12 and 13 (INSTR_CUDA_VERSION). One made-up device,
// which is always idle: kernels do nothing, copies copy, everything has finished when it is asked.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <utility>

#include "device.h"
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

enum Error {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidDevice = 101,
  kInvalidDeviceFunction = 98,
  kInvalidResourceHandle = 400,
  kSymbolNotFound = 500,
  kPeerAccessUnsupported = 217,
  kHostMemoryNotRegistered = 713,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureUnmatched = 903,
};

struct NamedError {
  Error error;
  const char* name;
  const char* text;
};
constexpr NamedError kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {kInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "peer access is not supported"},
    {kHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered", "memory is not registered"},
    {kStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {kStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {kStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "attempt to end capture of a stream that did not begin it"},
};

thread_local int last_error = kSuccess;

int fail(int error) {
  last_error = error;
  return error;
}

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

int launch(const void* function, Dim3 grid, Dim3 block, size_t shared_bytes, void* stream) {
  const Symbol* const kernel = find_kernel(function);
  if (kernel == nullptr) return fail(kInvalidDeviceFunction);
  const size_t threads = size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreadsPerBlock || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > static_cast<unsigned>(kMaxGrid[1]) || grid.z > static_cast<unsigned>(kMaxGrid[2])) {
    return fail(9);  // cudaErrorInvalidConfiguration
  }
  record({.kind = EventKind::kLaunch,
          .stream = find_stream(stream),
          .name = kernel->name,
          .grid = {grid.x, grid.y, grid.z},
          .block = {block.x, block.y, block.z},
          .shared_bytes = static_cast<uint32_t>(shared_bytes)});
  return kSuccess;
}

struct LaunchConfiguration {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};
thread_local LaunchConfiguration pushed;

// The public structure cudaLaunchConfig_t, without its attributes.
struct LaunchConfig {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};

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

int create_stream(void** handle, unsigned flags, int priority) {
  const SpinLock lock(streams_locked);
  auto* const stream = create<Stream>();
  stream->number = ++stream_count;
  stream->flags = flags;
  stream->priority = priority;
  stream->next = streams;
  streams = stream;
  *handle = stream;
  return kSuccess;
}

Capture* find_capture(uint64_t id) {
  Capture* capture = captures;
  while (capture != nullptr && capture->id != id) capture = capture->next;
  return capture;
}

int begin_capture(Stream* stream, Graph* graph) {
  if (stream->number == 0) return fail(kStreamCaptureUnsupported);
  const SpinLock lock(streams_locked);
  auto* const capture = create<Capture>();
  *capture = {++capture_count, graph, stream, false, captures};
  stream->last = nullptr;
  stream->capture = captures = capture;
  return kSuccess;
}

int end_capture(Stream* stream, Graph** graph) {
  Capture* const capture = stream->capture;
  if (capture == nullptr || capture->origin != stream) return fail(kStreamCaptureUnmatched);
  const SpinLock lock(streams_locked);
  for (Stream* other = streams; other != nullptr; other = other->next)
    if (other->capture == capture) other->capture = nullptr;
  Capture** at = &captures;
  while (*at != capture) at = &(*at)->next;
  *at = capture->next;
  const bool invalid = capture->invalid;
  *graph = invalid ? nullptr : capture->graph;
  destroy(capture);
  return invalid ? fail(kStreamCaptureInvalidated) : kSuccess;
}

// Waits for a stream, or for the whole device, which has always finished its work.
int synchronize(Stream* stream, const char* function) {
  Capture* const capture = stream != nullptr ? stream->capture : captures;
  if (capture != nullptr && (stream != nullptr || capture_mode == 0)) {
    capture->invalid = true;
    return fail(kStreamCaptureUnsupported);
  }
  record({.kind = EventKind::kSync, .stream = stream, .name = function});
  return kSuccess;
}

int get_capture_info(void* handle, int* status, uint64_t* id, Graph** graph, Node*** dependencies,
                     const void** edges, size_t* count) {
  Stream* const stream = find_stream(handle);
  const Capture* const capture = stream->capture;
  *status = capture == nullptr ? 0 : capture->invalid ? 2 : 1;
  if (capture == nullptr) return kSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph;
  if (dependencies != nullptr) *dependencies = &stream->last;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = stream->last != nullptr ? 1 : 0;
  return kSuccess;
}

// The stream depends on the last of these nodes; 1 means that the others are kept.
int set_dependencies(void* handle, Node** nodes, size_t count, unsigned flags) {
  if (count > 0) {
    find_stream(handle)->last = nodes[count - 1];
  } else if (flags == 1) {
    find_stream(handle)->last = nullptr;
  }
  return kSuccess;
}

// --- Copies ---

int copy(void* to, const void* from, size_t size, Stream* stream) {
  static constexpr const char* kDirections[] = {"host-to-host", "host-to-device", "device-to-host",
                                                "device-to-device"};
  const int direction = (is_device_address(to) ? 1 : 0) + (is_device_address(from) ? 2 : 0);
  record(
      {.kind = EventKind::kCopy, .stream = stream, .name = kDirections[direction], .size = size});
  if (stream->capture == nullptr) copy_memory(to, from, size);
  return kSuccess;
}

int copy_and_wait(void* to, const void* from, size_t size, const char* function) {
  Stream* const stream = find_stream(nullptr);
  const int error = copy(to, from, size, stream);
  return error != kSuccess ? error : synchronize(stream, function);
}

int fill(void* to, int value, size_t size, Stream* stream) {
  record({.kind = EventKind::kMemset, .stream = stream, .name = "memset", .size = size});
  if (stream->capture == nullptr) fill_memory(to, value, size);
  return kSuccess;
}

// --- Properties ---

// The public structure cudaDeviceProp: its fields and their order are part of the ABI.
struct DeviceProperties {
  char name[256], uuid[16], luid[8];
  unsigned luid_device_node_mask;
  size_t total_global_memory, shared_memory_per_block;
  int registers_per_block, warp_size;
  size_t memory_pitch;
  int max_threads_per_block, max_threads[3], max_grid[3];
#if INSTR_CUDA_VERSION < 13000
  int clock_rate;
#endif
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
#if INSTR_CUDA_VERSION < 13000
  int device_overlap;
#endif
  int multiprocessor_count;
#if INSTR_CUDA_VERSION < 13000
  int kernel_execution_timeout;
#endif
  int integrated, can_map_host_memory;
#if INSTR_CUDA_VERSION < 13000
  int compute_mode;
#endif
  int max_texture_1d[2];
#if INSTR_CUDA_VERSION < 13000
  int max_texture_1d_linear;
#endif
  int max_textures[23], max_surfaces[14];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc_driver, async_engines;
  int unified_addressing;
#if INSTR_CUDA_VERSION < 13000
  int memory_clock_rate;
#endif
  int memory_bus_width, l2_cache_size, persisting_l2_cache_size;
  int max_threads_per_multiprocessor, stream_priorities, global_l1_cache, local_l1_cache;
  size_t shared_memory_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, is_multi_gpu_board, multi_gpu_board_group;
  int host_native_atomics;
#if INSTR_CUDA_VERSION < 13000
  int single_to_double_ratio;
#endif
  int pageable_memory_access, concurrent_managed_access, compute_preemption;
  int host_pointer_for_registered_memory, cooperative_launch;
#if INSTR_CUDA_VERSION < 13000
  int cooperative_multi_device_launch;
#endif
  size_t shared_memory_per_block_optin;
  int pageable_memory_uses_host_tables, direct_managed_access_from_host;
  int max_blocks_per_multiprocessor, access_policy_window;
  size_t reserved_shared_memory_per_block;
};

int get_properties(DeviceProperties* properties, int index) {
  if (index != 0) return fail(kInvalidDevice);
  const Device& own = device();
  memset(properties, 0, sizeof *properties);
  DeviceProperties& to = *properties;
  snprintf(to.name, sizeof to.name, "instr_bench stand-in %s", own.name);
  snprintf(to.uuid, sizeof to.uuid, "stand-in %s", own.name);
  to.total_global_memory = own.memory_bytes;
  to.shared_memory_per_block = kSharedBytesPerBlock;
  to.registers_per_block = to.registers_per_multiprocessor = kRegistersPerMultiprocessor;
  to.warp_size = kWarpSize;
  to.memory_pitch = 0x7FFFFFFF;
  to.max_threads_per_block = kMaxThreadsPerBlock;
  memcpy(to.max_threads, kMaxBlock, sizeof kMaxBlock);
  memcpy(to.max_grid, kMaxGrid, sizeof kMaxGrid);
  to.constant_memory = kConstantBytes;
  to.major = own.major;
  to.minor = own.minor;
  to.texture_alignment = to.surface_alignment = kTextureAlignment;
  to.texture_pitch_alignment = kWarpSize;
  to.multiprocessor_count = own.multiprocessors;
  to.can_map_host_memory = to.concurrent_kernels = to.ecc = to.unified_addressing = 1;
  to.stream_priorities = to.global_l1_cache = to.local_l1_cache = to.managed_memory = 1;
  to.cooperative_launch = to.compute_preemption = 1;
  to.pci_bus = 1;
  to.async_engines = 3;
  to.memory_bus_width = own.memory_bus_bits;
  to.l2_cache_size = own.l2_bytes;
  to.max_threads_per_multiprocessor = own.max_threads_per_multiprocessor;
  to.shared_memory_per_multiprocessor = static_cast<size_t>(own.shared_bytes_per_multiprocessor);
  to.shared_memory_per_block_optin = static_cast<size_t>(own.shared_bytes_per_block_optin);
  to.max_blocks_per_multiprocessor = own.max_blocks_per_multiprocessor;
  to.reserved_shared_memory_per_block = kReservedSharedBytesPerBlock;
#if INSTR_CUDA_VERSION < 13000
  to.clock_rate = own.clock_khz;
  to.memory_clock_rate = own.memory_clock_khz;
  to.device_overlap = to.cooperative_multi_device_launch = 1;
  to.single_to_double_ratio = 2;
#endif
  return kSuccess;
}

// The first fields of the public structure cudaPointerAttributes.
struct PointerAttributes {
  int kind;  // 0 unregistered, 1 host, 2 device
  int device;
  void* device_pointer;
  void* host_pointer;
};

// The first fields of the public structure cudaFuncAttributes.
struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version, cache_mode;
  int max_dynamic_shared_bytes, shared_memory_carveout;
};

constexpr int kRegistersPerThread = 32;  // an assumption: the real figure is in the kernel's code

int get_occupancy(int* blocks, int threads, size_t shared_bytes) {
  if (threads <= 0) return fail(kInvalidValue);
  const Device& own = device();
  int count = own.max_threads_per_multiprocessor / threads;
  if (count > own.max_blocks_per_multiprocessor) count = own.max_blocks_per_multiprocessor;
  const size_t each = shared_bytes + kReservedSharedBytesPerBlock;
  const auto by_shared = static_cast<int>(own.shared_bytes_per_multiprocessor / each);
  *blocks = count < by_shared ? count : by_shared;
  return kSuccess;
}

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
  *stream = pushed.stream;
  return kSuccess;
}

CUDA_API int __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = find_kernel(host);
  return *kernel != nullptr ? kSuccess : fail(kInvalidDeviceFunction);
}

CUDA_API int __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void**,
                                size_t shared_bytes, void* stream) {
  return launch(kernel, grid, block, shared_bytes, stream);
}
CUDA_API int cudaLaunchKernel(const void* host, Dim3 grid, Dim3 block, void**, size_t shared_bytes,
                              void* stream) {
  return launch(host, grid, block, shared_bytes, stream);
}
CUDA_API int cudaLaunchCooperativeKernel(const void* host, Dim3 grid, Dim3 block, void**,
                                         size_t shared_bytes, void* stream) {
  return launch(host, grid, block, shared_bytes, stream);
}
CUDA_API int cudaLaunchKernelExC(const LaunchConfig* config, const void* host, void**) {
  return launch(host, config->grid, config->block, config->shared_bytes, config->stream);
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
  if (find_kernel(host) == nullptr) return fail(kInvalidDeviceFunction);
  const int version = 10 * device().major + device().minor;
  *attributes = {};
  attributes->max_threads_per_block = kMaxThreadsPerBlock;
  attributes->registers = kRegistersPerThread;
  attributes->ptx_version = attributes->binary_version = version;
  attributes->max_dynamic_shared_bytes = kSharedBytesPerBlock;
  return kSuccess;
}
CUDA_SUCCESS_ONLY(cudaFuncSetAttribute)
CUDA_SUCCESS_ONLY(cudaKernelSetAttributeForDevice)

CUDA_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                           size_t shared_bytes) {
  return get_occupancy(blocks, threads, shared_bytes);
}
CUDA_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                    int threads,
                                                                    size_t shared_bytes, unsigned) {
  return get_occupancy(blocks, threads, shared_bytes);
}

CUDA_API int cudaStreamCreate(void** stream) { return create_stream(stream, 0, 0); }
CUDA_API int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}
CUDA_API int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}
CUDA_API int cudaStreamDestroy(void* handle) {
  const SpinLock lock(streams_locked);
  for (Stream** at = &streams; *at != nullptr; at = &(*at)->next) {
    if (*at != handle) continue;
    *at = (*at)->next;
    destroy(static_cast<Stream*>(handle));
    return kSuccess;
  }
  return fail(kInvalidResourceHandle);
}
CUDA_API int cudaStreamGetPriority(void* stream, int* priority) {
  *priority = find_stream(stream)->priority;
  return kSuccess;
}
CUDA_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return kSuccess;
}
CUDA_API int cudaStreamSynchronize(void* stream) {
  return synchronize(find_stream(stream), __func__);
}
CUDA_API int cudaDeviceSynchronize() { return synchronize(nullptr, __func__); }
CUDA_API int cudaStreamQuery(void* handle) {
  Stream* const stream = find_stream(handle);
  return stream->capture == nullptr ? kSuccess : fail(kStreamCaptureUnsupported);
}
CUDA_API int cudaStreamWaitEvent(void* handle, const CudaEvent* event, unsigned) {
  Stream* const stream = find_stream(handle);
  Capture* const capture = event->capture != 0 ? find_capture(event->capture) : nullptr;
  if (capture != nullptr && stream->capture == nullptr) {
    stream->capture = capture;
    stream->last = event->node;
  }
  record({.kind = EventKind::kStreamWait, .stream = stream, .name = __func__});
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

CUDA_API int cudaEventCreateWithFlags(void** event, unsigned) {
  *event = create<CudaEvent>();
  return kSuccess;
}
CUDA_API int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
CUDA_API int cudaEventDestroy(CudaEvent* event) {
  destroy(event);
  return kSuccess;
}
CUDA_API int cudaEventRecordWithFlags(CudaEvent* event, void* handle, unsigned) {
  Stream* const stream = find_stream(handle);
  *event = {stream->capture != nullptr ? stream->capture->id : 0, stream->last};
  record({.kind = EventKind::kEventRecord, .stream = stream, .name = "cudaEventRecord"});
  return kSuccess;
}
CUDA_API int cudaEventRecord(CudaEvent* event, void* stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
CUDA_API int cudaEventSynchronize(CudaEvent*) {
  record({.kind = EventKind::kSync, .name = __func__});
  return kSuccess;
}
CUDA_SUCCESS_ONLY(cudaEventQuery)
CUDA_API int cudaEventElapsedTime(float* ms, CudaEvent*, CudaEvent*) {
  *ms = 0;  // the made-up device takes no time
  return kSuccess;
}
CUDA_API int cudaEventElapsedTime_v2(float* ms, CudaEvent* start, CudaEvent* end) {
  return cudaEventElapsedTime(ms, start, end);
}

CUDA_API int cudaThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return kSuccess;
}
CUDA_API int cudaStreamIsCapturing(void* stream, int* status) {
  return get_capture_info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
CUDA_API int cudaStreamBeginCapture(void* stream, int) {
  return begin_capture(find_stream(stream), create<Graph>());
}
CUDA_API int cudaStreamEndCapture(void* stream, Graph** graph) {
  return end_capture(find_stream(stream), graph);
}
CUDA_API int cudaStreamGetCaptureInfo_v3(void* stream, int* status, uint64_t* id, Graph** graph,
                                         Node*** dependencies, const void** edges, size_t* count) {
  return get_capture_info(stream, status, id, graph, dependencies, edges, count);
}
CUDA_API int cudaStreamGetCaptureInfo_v2(void* stream, int* status, uint64_t* id, Graph** graph,
                                         Node*** dependencies, size_t* count) {
  return get_capture_info(stream, status, id, graph, dependencies, nullptr, count);
}
#if INSTR_CUDA_VERSION < 13000
CUDA_API int cudaStreamGetCaptureInfo(void* stream, int* status, uint64_t* id) {
  return get_capture_info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUDA_API int cudaStreamUpdateCaptureDependencies(void* stream, Node** nodes, size_t count,
                                                 unsigned flags) {
  return set_dependencies(stream, nodes, count, flags);
}
#else
CUDA_API int cudaStreamGetCaptureInfo(void* stream, int* status, uint64_t* id, Graph** graph,
                                      Node*** dependencies, const void** edges, size_t* count) {
  return get_capture_info(stream, status, id, graph, dependencies, edges, count);
}
CUDA_API int cudaStreamUpdateCaptureDependencies(void* stream, Node** nodes, const void*,
                                                 size_t count, unsigned flags) {
  return set_dependencies(stream, nodes, count, flags);
}
#endif

CUDA_API int cudaGraphGetNodes(Graph* graph, Node** nodes, size_t* count) {
  size_t index = 0;
  for (Node* node = graph->nodes; nodes != nullptr && node != nullptr && index < *count;
       node = node->next) {
    nodes[index++] = node;
  }
  *count = nodes != nullptr ? index : graph->size;
  return kSuccess;
}
CUDA_API int cudaGraphInstantiateWithFlags(Graph** executable, Graph* graph, uint64_t) {
  *executable = create<Graph>();
  (*executable)->size = graph->size;
  return kSuccess;
}
CUDA_API int cudaGraphLaunch(Graph* graph, void* stream) {
  record({.kind = EventKind::kGraphLaunch,
          .stream = find_stream(stream),
          .name = __func__,
          .size = graph->size});
  return kSuccess;
}
CUDA_API int cudaGraphDestroy(Graph* graph) {
  while (Node* const node = graph->nodes) {
    graph->nodes = node->next;
    destroy(node);
  }
  destroy(graph);
  return kSuccess;
}
CUDA_API int cudaGraphExecDestroy(Graph* graph) { return cudaGraphDestroy(graph); }

CUDA_API int cudaMalloc(void** address, size_t size) {
  *address = allocate_memory(MemoryKind::kDevice, size);
  if (*address == nullptr) return fail(kMemoryAllocation);
  record({.kind = EventKind::kAlloc, .name = __func__, .size = size});
  return kSuccess;
}
CUDA_API int cudaFree(void* address) {
  if (address == nullptr) return kSuccess;
  record({.kind = EventKind::kFree, .name = __func__});
  return free_memory(MemoryKind::kDevice, address) ? kSuccess : fail(kInvalidValue);
}
CUDA_API int cudaHostAlloc(void** address, size_t size, unsigned) {
  *address = allocate_memory(MemoryKind::kPinned, size);
  return *address != nullptr ? kSuccess : fail(kMemoryAllocation);
}
CUDA_API int cudaMallocHost(void** address, size_t size) { return cudaHostAlloc(address, size, 0); }
CUDA_API int cudaFreeHost(void* address) {
  if (address == nullptr) return kSuccess;
  return free_memory(MemoryKind::kPinned, address) ? kSuccess : fail(kInvalidValue);
}
CUDA_API int cudaHostRegister(void* begin, size_t size, unsigned) {
  return register_pinned(begin, size) ? kSuccess : fail(kInvalidValue);
}
CUDA_API int cudaHostUnregister(void* begin) {
  return unregister_pinned(begin) ? kSuccess : fail(kHostMemoryNotRegistered);
}
CUDA_API int cudaHostGetDevicePointer(void** address, void* host, unsigned) {
  *address = host;
  return kSuccess;
}
CUDA_API int cudaMemGetInfo(size_t* free, size_t* total) {
  *free = count_free_device_bytes();
  *total = device().memory_bytes;
  return kSuccess;
}
CUDA_API int cudaPointerGetAttributes(PointerAttributes* attributes, const void* address) {
  void* const pointer = const_cast<void*>(address);
  *attributes = {0, -1, nullptr, pointer};
  if (is_device_address(address)) {
    *attributes = {2, 0, pointer, nullptr};
  } else if (is_pinned_address(address)) {
    *attributes = {1, 0, pointer, pointer};
  }
  return kSuccess;
}

CUDA_API int cudaMemcpyAsync(void* to, const void* from, size_t size, int, void* stream) {
  return copy(to, from, size, find_stream(stream));
}
CUDA_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size, void* stream) {
  return copy(to, from, size, find_stream(stream));
}
CUDA_API int cudaMemcpy(void* to, const void* from, size_t size, int) {
  return copy_and_wait(to, from, size, __func__);
}
CUDA_API int cudaMemcpyToSymbol(const void* host, const void* from, size_t size, size_t offset,
                                int) {
  void* address = nullptr;
  if (const int error = cudaGetSymbolAddress(&address, host)) return error;
  return copy_and_wait(static_cast<char*>(address) + offset, from, size, __func__);
}
CUDA_API int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                               size_t width, size_t height, int, void* handle) {
  Stream* const stream = find_stream(handle);
  if (width > to_pitch || width > from_pitch) return fail(kInvalidValue);
  const char* const name = is_device_address(to) ? "to-device-2d" : "to-host-2d";
  record({.kind = EventKind::kCopy, .stream = stream, .name = name, .size = width * height});
  if (stream->capture != nullptr) return kSuccess;
  for (size_t row = 0; row < height; ++row) {
    copy_memory(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width);
  }
  return kSuccess;
}
CUDA_API int cudaMemsetAsync(void* to, int value, size_t size, void* stream) {
  return fill(to, value, size, find_stream(stream));
}
CUDA_API int cudaMemset(void* to, int value, size_t size) {
  return fill(to, value, size, find_stream(nullptr));
}

CUDA_API int cudaGetDeviceCount(int* count) {
  *count = 1;
  return kSuccess;
}
CUDA_API int cudaGetDevice(int* index) {
  *index = 0;
  return kSuccess;
}
CUDA_API int cudaSetDevice(int index) { return index == 0 ? kSuccess : fail(kInvalidDevice); }
CUDA_API int cudaGetDeviceProperties(DeviceProperties* properties, int index) {
  return get_properties(properties, index);
}
CUDA_API int cudaGetDeviceProperties_v2(DeviceProperties* properties, int index) {
  return get_properties(properties, index);
}
CUDA_API int cudaDeviceGetAttribute(int* value, int attribute, int index) {
  if (index != 0) return fail(kInvalidDevice);
  if (get_device_attribute(attribute, value)) return kSuccess;
  return fail(static_cast<int>(record_unsupported("cudaDeviceGetAttribute", kNotSupported)));
}
CUDA_API int cudaDeviceGetPCIBusId(char* text, int size, int) {
  snprintf(text, static_cast<size_t>(size), "0000:01:00.0");
  return kSuccess;
}
CUDA_API int cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return kSuccess;
}
CUDA_API int cudaDeviceEnablePeerAccess(int, unsigned) { return fail(kPeerAccessUnsupported); }
CUDA_API int cudaRuntimeGetVersion(int* version) {
  *version = INSTR_CUDA_VERSION;
  return kSuccess;
}
CUDA_API int cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
CUDA_SUCCESS_ONLY(cudaProfilerStart)
CUDA_SUCCESS_ONLY(cudaProfilerStop)

CUDA_API int cudaGetLastError() {
  const int error = last_error;
  last_error = kSuccess;
  return error;
}
CUDA_API int cudaPeekAtLastError() { return last_error; }
CUDA_API const char* cudaGetErrorString(int error) {
  for (const NamedError& known : kErrors)
    if (known.error == error) return known.text;
  return describe_last_error();
}
CUDA_API const char* cudaGetErrorName(int error) {
  for (const NamedError& known : kErrors)
    if (known.error == error) return known.name;
  return error == kNotSupported ? "cudaErrorNotSupported" : "cudaErrorUnknown";
}
CUDA_API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, uint64_t,
                                              int* status) {
  *function = dlsym(RTLD_DEFAULT, name);
  if (*function == nullptr) *function = make_unsupported(name);
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;  // 1: symbol not found
  return kSuccess;
}
CUDA_API int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags,
                                     int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, status);
}
