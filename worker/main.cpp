// The worker: links LibTorch, runs under Callgrind, knows nothing of definitions. Started as a
// zygote, it brings LibTorch up, switches instrumentation on, so that all forks inherit the
// translations, runs its kind's fixed warm-up and serves requests (worker/wire.h).
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <valgrind/callgrind.h>

#include "worker/abi.h"
#include "worker/arena.h"
#include "worker/host.h"
#include "worker/pages.h"
#include "worker/torch_side.h"

namespace {

std::string cpu_features() {
  std::string text;
  auto add = [&text](const char* name, bool has) {
    if (has) text += (text.empty() ? "" : " ") + std::string(name);
  };
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("bmi2", __builtin_cpu_supports("bmi2"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  return text;
}

instr::wire::Message hello(const char* zygote) {
  return {"hello",
          {{"version", instr::wire::kWorkerVersion},
           {"abi", std::to_string(INSTR_ABI_VERSION)},
           {"libtorch_version", instr::torch_side::version()},
           {"cpu_capability", instr::torch_side::cpu_capability()},
           {"cpu_features", cpu_features()},
           {"valgrind", RUNNING_ON_VALGRIND ? "1" : "0"},
           {"zygote", zygote}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("worker %s for LibTorch %s\n", instr::wire::kWorkerVersion,
           instr::torch_side::version().c_str());
    return 0;
  }
  const char* zygote = nullptr;
  if (argc == 2 && strcmp(argv[1], "--zygote=eager") == 0) zygote = "eager";
  if (argc == 2 && strcmp(argv[1], "--zygote=torchscript") == 0) zygote = "torchscript";
  if (zygote == nullptr) return 2;
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  CALLGRIND_START_INSTRUMENTATION;
  if (strcmp(zygote, "eager") == 0) {
    instr::torch_side::warm_up_eager();
  } else {
    instr::torch_side::warm_up_torchscript();
  }
  instr::Host host(instr::wire::kControlFd);
  host.rehearse();
  if (!host.channel().send(hello(zygote))) return 1;
  instr::gather_pages();  // last: units are most likely still being compiled
  host.serve();
}
