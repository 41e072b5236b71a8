// Stands in for cuBLAS.
#include "library.h"

using namespace instr::cuda_host;

namespace {

enum Setting { kMathMode, kPointerMode };
constexpr int kNotSupported = 15;

// Records a function with a scalar result, which must be on the device.
int record_reduction(const char* name, Handle* handle) {
  if (handle->settings[kPointerMode] == 1) return record_call(name, handle->stream);
  return static_cast<int>(record_unsupported(name, kNotSupported));
}

}  // namespace

CUDA_HANDLE(cublasCreate_v2, cublasDestroy_v2, cublasSetStream_v2)
CUDA_SETTING(cublasSetMathMode, cublasGetMathMode, kMathMode)
CUDA_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, kPointerMode)
CUDA_SUCCESS_ONLY(cublasSetWorkspace_v2)
CUDA_SUCCESS_ONLY(cublasSetSmCountTarget)

CUDA_TYPES(CUDA_COMPUTES, cublas, gemm_v2)
CUDA_TYPES(CUDA_COMPUTES, cublas, gemmBatched)
CUDA_TYPES(CUDA_COMPUTES, cublas, gemmStridedBatched)
CUDA_TYPES(CUDA_COMPUTES, cublas, gemv_v2)
CUDA_TYPES(CUDA_COMPUTES, cublas, getrfBatched)
CUDA_TYPES(CUDA_COMPUTES, cublas, trmm_v2)
CUDA_TYPES(CUDA_COMPUTES, cublas, trsm_v2)
CUDA_TYPES(CUDA_COMPUTES, cublas, trsmBatched)
CUDA_COMPUTES(cublasGemmEx)
CUDA_COMPUTES(cublasGemmStridedBatchedEx)
CUDA_COMPUTES(cublasSgemmEx)

#define REDUCES(name) \
  CUDA_API int name(Handle* handle) { return record_reduction(#name, handle); }
CUDA_REAL(REDUCES, cublas, dot_v2)
CUDA_COMPLEX(REDUCES, cublas, dotc_v2)
CUDA_COMPLEX(REDUCES, cublas, dotu_v2)
REDUCES(cublasDotEx)

// These set an int in the host's memory to the number of the first wrong argument, or to 0.
template <size_t index>
int record_solution(const char* name, const Argument (&arguments)[19]) {
  answer_zero<int, index>(arguments);
  return record_call(name, reinterpret_cast<Handle*>(arguments[0])->stream);
}
#define SOLVES_AT_6(name) \
  CUDA_API int name(CUDA_ARGUMENTS) { return record_solution<6>(#name, CUDA_ARGUMENT_LIST); }
#define SOLVES_AT_9(name) \
  CUDA_API int name(CUDA_ARGUMENTS) { return record_solution<9>(#name, CUDA_ARGUMENT_LIST); }
CUDA_TYPES(SOLVES_AT_6, cublas, geqrfBatched)
CUDA_TYPES(SOLVES_AT_9, cublas, gelsBatched)
CUDA_TYPES(SOLVES_AT_9, cublas, getrsBatched)
