#include "core/base/environment.h"

#include <sched.h>
#include <unistd.h>

namespace instr {

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    environment.emplace_back(*one);
  }
  return environment;
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  std::vector<int> cores;
  for (int core = 0; core != CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace instr
