// The measurements of experiments, in a separate process.
#pragma once

#include "worker/native/repetitions.h"
#include "worker/wire.h"

namespace instr {

// Times the start of the last snippet and the repetitions of all, measures the memory and the
// operators of each, and verifies the last one, as the request says. Replies `all`
// (worker/wire.h).
wire::Message run_experiment(const TimingRequest& request);

// Replies the first snippet's TorchScript graphs and counters, and the profiler's events:
// `inspected` or `failed`.
wire::Message inspect(const TimingRequest& request);

}  // namespace instr
