// Environment variables and usable cores of this process.
#pragma once

#include <string>
#include <vector>

namespace instr {

// This process's environment variables, "NAME=value" each.
std::vector<std::string> own_environment();

// The numbers of the cores of this machine that it may run on, ascending; at least one.
std::vector<int> usable_cores();

}  // namespace instr
