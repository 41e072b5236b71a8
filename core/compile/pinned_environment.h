// The environment that every worker runs in, whatever the caller's: a count must not depend on it.
#pragma once

#include <string>
#include <vector>

namespace instr {

// Which code of LibTorch and its math libraries is counted: that for AVX2, on all processors that
// have it, however much more they can do; on others the plain code, which all have.
enum class CpuClass { kAvx2, kPlain };

CpuClass cpu_class();  // of this machine

// "NAME=value", in a fixed order. Part of the fingerprint: a change here may change counts.
std::vector<std::string> pinned_environment(CpuClass cpu);

}  // namespace instr
