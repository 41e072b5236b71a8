// Stands in for cuFFT.
#include "record.h"

using namespace instr::cuda_host;

namespace {

constexpr int kMaxPlans = 4096;
Stream* streams[kMaxPlans];  // the stream of each plan
int plan_count = 0;

}  // namespace

CUDA_API int cufftCreate(int* plan) {
  *plan = plan_count++ % kMaxPlans;
  streams[*plan] = find_stream(nullptr);
  return 0;
}
CUDA_API int cufftSetStream(int plan, void* stream) {
  streams[plan] = find_stream(stream);
  return 0;
}
CUDA_API int cufftXtMakePlanMany(int, int, int64_t*, int64_t*, int64_t, int64_t, int, int64_t*,
                                 int64_t, int64_t, int, int64_t, size_t* workspace_bytes, int) {
  return answer(workspace_bytes, 0);
}
CUDA_API int cufftXtExec(int plan, void*, void*, int) {
  return record_call("cufftXtExec", streams[plan]);
}
CUDA_SUCCESS_ONLY(cufftDestroy)
CUDA_SUCCESS_ONLY(cufftSetAutoAllocation)
CUDA_SUCCESS_ONLY(cufftSetWorkArea)
