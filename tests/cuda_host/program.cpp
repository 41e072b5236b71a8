// A small program against CUDA's runtime that runs on the stand-ins alone, without LibTorch. Prints
// the events that they recorded, one a line. It declares what it needs itself.
#include <stddef.h>
#include <stdio.h>

#include "worker/cuda_host/record.h"

struct Dim3 {
  unsigned x, y, z;
};

extern "C" {
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
int cudaLaunchKernel(const void*, Dim3, Dim3, void**, size_t, void*);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyAsync(void*, const void*, size_t, int, void*);
int cudaStreamCreate(void**);
int cudaStreamSynchronize(void*);
int cudaDeviceSynchronize();
int cudaEventCreate(void**);
int cudaEventRecord(void*, void*);
int cudaStreamWaitEvent(void*, void*, unsigned);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cuStreamIsCapturing(void*, int*);
int cudaGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cudaGraphLaunch(void*, void*);
int cudaGraphAddNode();
const char* cudaGetErrorString(int);
int cublasCreate_v2(void**);
int cublasSgemm_v2(void*);
}

namespace {

// The address of this variable is the kernel's handle.
const char kernel = 0;

void run_eager(void* stream) {
  void* memory = nullptr;
  int value = 7;
  int back = 0;
  cudaMalloc(&memory, sizeof value);
  cudaMemcpy(memory, &value, sizeof value, 1);
  cudaLaunchKernel(&kernel, {2, 3, 4}, {32, 2, 1}, nullptr, 16, stream);
  cudaMemcpyAsync(&back, memory, sizeof back, 2, stream);
  cudaStreamSynchronize(stream);
  printf("copied back: %d\n", back);
  cudaMemcpyAsync(&back, memory, sizeof back / 2, 2, stream);
  printf("copied back with another size: %d\n", back);
  cudaFree(memory);
}

// Captures a launch on each of two streams, of which the second joins by an event.
void run_graph(void* stream, void* other) {
  void* graph = nullptr;
  void* executable = nullptr;
  void* event = nullptr;
  int before = -1;
  int during = -1;
  cudaEventCreate(&event);
  cuStreamIsCapturing(stream, &before);
  cudaStreamBeginCapture(stream, 0);
  cuStreamIsCapturing(stream, &during);
  printf("capturing: %d, then %d\n", before, during);
  cudaLaunchKernel(&kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, stream);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  cudaLaunchKernel(&kernel, {1, 1, 1}, {64, 1, 1}, nullptr, 0, other);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiateWithFlags(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);
  cudaLaunchKernel(&kernel, {1, 1, 1}, {96, 1, 1}, nullptr, 0, other);
}

}  // namespace

int main() {
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "_Z3addv", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  instr_cuda_host_log(1);
  void* streams[2];
  for (void*& stream : streams) cudaStreamCreate(&stream);
  run_eager(streams[0]);
  run_graph(streams[0], streams[1]);
  void* blas = nullptr;
  cublasCreate_v2(&blas);
  cublasSgemm_v2(blas);
  cudaDeviceSynchronize();
  printf("too much memory: %d\n", cudaMalloc(streams, size_t{1} << 40));
  printf("a wrong block: %d\n",
         cudaLaunchKernel(&kernel, {1, 1, 1}, {2048, 1, 1}, nullptr, 0, nullptr));
  printf("a stub: %s\n", cudaGetErrorString(cudaGraphAddNode()));
  char line[256];
  for (size_t i = 0; i < instr_cuda_host_event_count(); ++i) {
    instr_cuda_host_event(i, line, sizeof line);
    puts(line);
  }
  const instr_cuda_counters& counters = *instr_cuda_host_counters();
  printf("launches %zu, copies %zu, unsupported %zu\n", static_cast<size_t>(counters.launches),
         static_cast<size_t>(counters.device_copies), static_cast<size_t>(counters.unsupported));
}
