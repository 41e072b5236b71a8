// Stands in for CUDA's run-time compiler: compiles to nothing, as the driver's stand-in does not
// look at compiled code.
#include <stdlib.h>
#include <string.h>

#include "library.h"

using namespace instr::cuda_host;

CUDA_API int nvrtcVersion(int* major, int* minor) {
  *major = INSTR_CUDA_VERSION / 1000;
  return answer(minor, INSTR_CUDA_VERSION / 10 % 100);
}
CUDA_API int nvrtcCreateProgram(Descriptor** program) {
  return answer(program, create<Descriptor>());
}
CUDA_API int nvrtcDestroyProgram(Descriptor** program) { return destroy(*program); }

// torch would keep the result in a cache, from which a process on a real GPU would load it.
CUDA_API int nvrtcCompileProgram(Descriptor*) {
  constexpr long kInternalError = 11;
  const char* const cache = getenv("USE_PYTORCH_KERNEL_CACHE");
  if (cache != nullptr && strcmp(cache, "0") == 0) return 0;
  return static_cast<int>(
      record_unsupported("nvrtcCompileProgram without USE_PYTORCH_KERNEL_CACHE=0", kInternalError));
}

#define OUTPUT(name)                                                                     \
  CUDA_API int name##Size(Descriptor*, size_t* size) { return answer(size, size_t{1}); } \
  CUDA_API int name(Descriptor*, char* text) { return answer(text, '\0'); }
OUTPUT(nvrtcGetCUBIN)
OUTPUT(nvrtcGetPTX)
OUTPUT(nvrtcGetProgramLog)

CUDA_SUCCESS_ONLY(nvrtcAddNameExpression)
CUDA_API int nvrtcGetLoweredName(Descriptor*, const char* name, const char** lowered) {
  return answer(lowered, keep_text(name));
}
