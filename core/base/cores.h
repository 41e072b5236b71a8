// The cores of this machine that this process may run on.
#pragma once

#include <vector>

namespace instr {

// Their numbers, ascending; at least one.
std::vector<int> usable_cores();

}  // namespace instr
