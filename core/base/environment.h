#pragma once

#include <string>
#include <vector>

namespace instr {

// This process's environment variables, "NAME=value" each.
std::vector<std::string> own_environment();

}  // namespace instr
