#include "core/base/environment.h"

#include <unistd.h>

namespace instr {

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    environment.emplace_back(*one);
  }
  return environment;
}

}  // namespace instr
