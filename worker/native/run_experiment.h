// The measurements of an experiment on a snippet, in a separate process.
#pragma once

#include "worker/native/repetitions.h"
#include "worker/wire.h"

namespace instr {

// Times the start and the repetitions, and runs the snippet once to measure memory and once under
// the profiler. Replies `experimented` or `failed` (worker/wire.h).
wire::Message run_experiment(const TimingRequest& request);

// Replies TorchScript's graphs and counters, and the profiler's events: `inspected` or `failed`.
wire::Message inspect(const TimingRequest& request);

}  // namespace instr
