#include "worker/native/serve_natively.h"

#include <sys/resource.h>

#include "worker/abi.h"
#include "worker/children.h"
#include "worker/native/native_host.h"
#include "worker/torch_side.h"

namespace instr {

void serve_natively() {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  NativeHost host(wire::kControlFd);
  const wire::Message hello{"hello",
                            {{"version", wire::kWorkerVersion},
                             {"abi", std::to_string(INSTR_ABI_VERSION)},
                             {"libtorch_version", torch_side::version()},
                             {"timed_cpu_capability", torch_side::cpu_capability()}}};
  if (!host.channel().send(hello)) end_process();
  host.serve();
}

}  // namespace instr
