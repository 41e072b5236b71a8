// The environment that every worker runs in, whatever the caller's: a count must not depend on it.
#pragma once

#include <string>
#include <vector>

namespace instr {

// "NAME=value", in a fixed order. Part of the fingerprint: a change here may change counts.
const std::vector<std::string>& pinned_environment();

}  // namespace instr
