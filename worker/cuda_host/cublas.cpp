// Stands in for cuBLAS.
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

struct Handle {
  Stream* stream;
  int math_mode;
  int pointer_mode;  // 0: scalars lie in the host's memory
};

}  // namespace

CUDA_API int cublasCreate_v2(Handle** handle) {
  *handle = create<Handle>();
  (*handle)->stream = find_stream(nullptr);
  return 0;
}
CUDA_API int cublasDestroy_v2(Handle* handle) { return destroy(handle); }
CUDA_API int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = find_stream(stream);
  return 0;
}
CUDA_API int cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return 0;
}
CUDA_API int cublasGetMathMode(Handle* handle, int* mode) {
  return answer(mode, handle->math_mode);
}
CUDA_API int cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return 0;
}
CUDA_API int cublasGetPointerMode_v2(Handle* handle, int* mode) {
  return answer(mode, handle->pointer_mode);
}
CUDA_SUCCESS_ONLY(cublasSetWorkspace_v2)
CUDA_SUCCESS_ONLY(cublasSetSmCountTarget)

// A function that computes matrices or vectors on the device.
#define COMPUTES(name) \
  CUDA_API int name(Handle* handle) { return record_call(#name, handle->stream); }
#define COMPUTES_ALL(name) \
  COMPUTES(cublasS##name) COMPUTES(cublasD##name) COMPUTES(cublasC##name) COMPUTES(cublasZ##name)
COMPUTES_ALL(gemm_v2)
COMPUTES_ALL(gemmBatched)
COMPUTES_ALL(gemmStridedBatched)
COMPUTES_ALL(gemv_v2)
COMPUTES_ALL(trsm_v2)
COMPUTES_ALL(trsmBatched)
COMPUTES_ALL(trmm_v2)
COMPUTES(cublasGemmEx)
COMPUTES(cublasSgemmEx)
COMPUTES(cublasGemmStridedBatchedEx)

// A function with a scalar result, which must be on the device.
#define REDUCES(name)                                                         \
  CUDA_API int name(Handle* handle) {                                         \
    if (handle->pointer_mode == 0) return (int)record_unsupported(#name, 15); \
    return record_call(#name, handle->stream);                                \
  }
REDUCES(cublasSdot_v2)
REDUCES(cublasDdot_v2)
REDUCES(cublasCdotu_v2)
REDUCES(cublasCdotc_v2)
REDUCES(cublasZdotu_v2)
REDUCES(cublasZdotc_v2)
REDUCES(cublasDotEx)
