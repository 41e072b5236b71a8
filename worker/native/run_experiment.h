// All measurements of an experiment on one snippet, in a process of its own.
#pragma once

#include "worker/native/repetitions.h"
#include "worker/wire.h"

namespace instr {

// Times the start and the request's repetitions, then one run for the memory and one under the
// profiler: `experimented` or `failed` (worker/wire.h).
wire::Message run_experiment(const TimingRequest& request);

// TorchScript's graphs and counters, and the profiler's events: `inspected` or `failed`.
wire::Message inspect(const TimingRequest& request);

}  // namespace instr
