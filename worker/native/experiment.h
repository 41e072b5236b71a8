// One snippet in a process of its own, all that an experiment asks of it.
#pragma once

#include "worker/native/repetitions.h"
#include "worker/wire.h"

namespace instr {

// How long it takes to begin, the request's repetitions of its iterations, one run for the memory
// and one under the profiler: `experimented` or `failed` (worker/wire.h).
wire::Message run_experiment(const TimingRequest& request);

// TorchScript's graphs and counters, and the profiler's events: `inspected` or `failed`.
wire::Message inspect(const TimingRequest& request);

}  // namespace instr
