// The native worker: links LibTorch and Google Benchmark, knows nothing of definitions, and times
// snippets on request (worker/wire.h). It forks a process for each group of snippets, which brings
// up the device and the threads that they need.
#include <sys/resource.h>

#include "worker/abi.h"
#include "worker/children.h"
#include "worker/native/native_host.h"
#include "worker/torch_side.h"

int main() {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  instr::NativeHost host(instr::wire::kControlFd);
  instr::wire::Message hello{"hello",
                             {{"version", instr::wire::kWorkerVersion},
                              {"abi", std::to_string(INSTR_ABI_VERSION)},
                              {"libtorch_version", instr::torch_side::version()},
                              {"timed_cpu_capability", instr::torch_side::cpu_capability()}}};
  if (!host.channel().send(hello)) return 1;
  host.serve();
}
