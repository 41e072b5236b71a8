// Stands in for cuBLASLt.
#include "library.h"

using namespace instr::cuda_host;

namespace {

// The public structure cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

}  // namespace

CUDA_API size_t cublasLtGetVersion() { return INSTR_CUDA_VERSION * 10; }
CUDA_DESCRIPTOR(cublasLtCreate, cublasLtDestroy)
CUDA_DESCRIPTOR(cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy)
CUDA_DESCRIPTOR(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy)
CUDA_DESCRIPTOR(cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy)
CUDA_SUCCESS_ONLY(cublasLtMatmulDescSetAttribute)
CUDA_SUCCESS_ONLY(cublasLtMatmulPreferenceSetAttribute)
CUDA_SUCCESS_ONLY(cublasLtMatrixLayoutSetAttribute)

CUDA_API int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*,
                                            int asked, HeuristicResult* results, int* count) {
  *count = asked < 1 ? asked : 1;
  if (asked > 0) *results = {};
  return record_call(__func__, nullptr);
}
CUDA_API int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*,
                            const void*, const void*, void*, void*, void*, const void*, void*,
                            size_t, void* stream) {
  return record_call(__func__, find_stream(stream));
}
