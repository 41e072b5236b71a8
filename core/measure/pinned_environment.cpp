#include "core/measure/pinned_environment.h"

namespace instr {

const std::vector<std::string>& pinned_environment() {
  static const std::vector<std::string> kEnvironment{
      "PATH=/usr/bin:/bin",
      "LC_ALL=C",
      "TZ=UTC0",
      // The working folder under a name of fixed length. If `valgrind` is a shell script (Debian),
      // the shell sets it to the full path, unless it already names the folder.
      "PWD=/proc/self/cwd",
      // LibTorch's and its math libraries' choice of code paths by CPU.
      "ATEN_CPU_CAPABILITY=avx2",
      "MKL_CBWR=AVX2",
      "MKL_ENABLE_INSTRUCTIONS=AVX2",
      "OPENBLAS_CORETYPE=Haswell",
      "ONEDNN_MAX_CPU_ISA=AVX2",
      "DNNL_MAX_CPU_ISA=AVX2",
      // Only the variant determines the threads; waiting ones do not spin.
      "OMP_NUM_THREADS=1",
      "MKL_NUM_THREADS=1",
      "OPENBLAS_NUM_THREADS=1",
      "OMP_DYNAMIC=FALSE",
      "MKL_DYNAMIC=FALSE",
      "OMP_WAIT_POLICY=passive",
      "GOMP_SPINCOUNT=0",
      "KMP_BLOCKTIME=0",
      // The sizes at which memcpy and memset change their method: else they depend on the machine's
      // caches.
      "GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=32768"
      ":glibc.cpu.x86_shared_cache_size=1048576"
      ":glibc.cpu.x86_non_temporal_threshold=786432"
      ":glibc.cpu.x86_rep_movsb_threshold=2048"
      ":glibc.cpu.x86_rep_stosb_threshold=2048",
  };
  return kEnvironment;
}

}  // namespace instr
