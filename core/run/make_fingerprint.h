// Makes the fingerprint of a run.
#pragma once

#include <map>
#include <string>

#include "core/compile/libtorch.h"
#include "core/compile/toolchain.h"
#include "core/results/fingerprint.h"

namespace instr {

// From this side's findings, and from the worker's `hello` ("cpu_capability", "worker_hash", pinned
// settings, ...; except for fields that the first two know better). Without a Valgrind nothing is
// counted; "timed_..." fields are for times.
Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker);

}  // namespace instr
