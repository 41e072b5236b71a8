// Stands in for cuBLASLt.
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

// Matrix layouts, descriptions and preferences: nothing reads what is set.
struct Descriptor {
  int type;
};

// The public structure cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

int create_descriptor(Descriptor** to) { return answer(to, create<Descriptor>()); }

int destroy_descriptor(Descriptor* descriptor) { return destroy(descriptor); }

}  // namespace

CUDA_API size_t cublasLtGetVersion() { return INSTR_CUDA_VERSION * 10; }
CUDA_API int cublasLtCreate(Descriptor** to) { return create_descriptor(to); }
CUDA_API int cublasLtDestroy(Descriptor* handle) { return destroy_descriptor(handle); }
#define DESCRIPTOR(name)                                                                      \
  CUDA_API int cublasLt##name##Create(Descriptor** to) { return create_descriptor(to); }      \
  CUDA_API int cublasLt##name##Destroy(Descriptor* from) { return destroy_descriptor(from); } \
  CUDA_SUCCESS_ONLY(cublasLt##name##SetAttribute)
DESCRIPTOR(MatmulDesc)
DESCRIPTOR(MatmulPreference)
DESCRIPTOR(MatrixLayout)

CUDA_API int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*,
                                            int asked, HeuristicResult* results, int* count) {
  for (int i = 0; i < asked; ++i) results[i] = {};
  *count = asked < 1 ? asked : 1;
  return record_call("cublasLtMatmulAlgoGetHeuristic", find_stream(nullptr));
}

CUDA_API int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*,
                            const void*, const void*, void*, void*, void*, const void*, void*,
                            size_t, void* stream) {
  return record_call("cublasLtMatmul", find_stream(stream));
}
