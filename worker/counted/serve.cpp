#include "worker/counted/serve.h"

#include <pthread.h>
#include <sys/resource.h>
#include <valgrind/callgrind.h>

#include "worker/abi.h"
#include "worker/children.h"
#include "worker/counted/host.h"
#include "worker/torch_side.h"

namespace instr {
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

wire::Message hello() {
  return {"hello",
          {{"version", wire::kWorkerVersion},
           {"abi", std::to_string(INSTR_ABI_VERSION)},
           {"libtorch_version", torch_side::version()},
           {"cpu_capability", torch_side::cpu_capability()},
           {"cpu_features", cpu_features()},
           {"valgrind", RUNNING_ON_VALGRIND ? "1" : "0"}}};
}

// Starts a thread: before a process's first one, libstdc++ and glibc count references without
// atomics, and LibTorch starts none on a machine with one core.
void start_thread() {
  pthread_t thread;
  const auto nothing = [](void*) -> void* { return nullptr; };
  if (pthread_create(&thread, nullptr, nothing, nullptr) == 0) pthread_join(thread, nullptr);
}

}  // namespace

void serve() {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  start_thread();
  Host host(wire::kControlFd);
  if (!host.channel().send(hello())) end_process();
  host.serve();
}

}  // namespace instr
