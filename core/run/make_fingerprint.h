#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/compile/libtorch.h"
#include "core/compile/toolchain.h"
#include "core/results/fingerprint.h"

namespace instr {

// Makes the fingerprint of a run. `valgrind_version`: empty if nothing is counted. `worker`: fields
// of the workers' `hello` ("cpu_capability", "worker_hash", pinned settings, ...), "timed_..." of
// the native one; ignored where the tools have the same field.
Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker);

// Returns the models of this machine's NVIDIA GPUs, "NVIDIA H200", each once, as their driver lists
// them in `folder`; empty if it does not.
std::string gpu_models(const std::filesystem::path& folder = "/proc/driver/nvidia/gpus");

}  // namespace instr
