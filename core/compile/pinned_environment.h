// The environment of every counting worker: a count must not depend on the caller's environment.
#pragma once

#include <string>
#include <vector>

namespace instr {

// The code paths of LibTorch and its math libraries that are counted: those for AVX2 on processors
// that have it, even if they have more; on others the plain code.
enum class CpuClass { kAvx2, kPlain };

CpuClass cpu_class();  // this machine's class

// Returns "NAME=value", in a fixed order. Part of the fingerprint: a change here may change counts.
std::vector<std::string> pinned_environment(CpuClass cpu);

}  // namespace instr
