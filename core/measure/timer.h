// Times variants in native workers, one group at a time with nothing else running: variants that
// differ only in their backend are timed alternately in one process, so that they can be compared.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/measure/measure_config.h"
#include "core/measure/native_worker.h"

namespace instr {

// Checks that these metrics (kEventMetrics) can be counted on this machine.
Expected<void> check_events(const std::vector<std::string>& metrics);

// The variants to time in one worker, and the callbacks.
struct TimedSide {
  std::vector<CompiledVariant> variants;
  NativeWorker& worker;
  TimerOptions options;
  MeasureEvents events;
};

// Times the variants of all sides, one request at a time. The same benchmarks of several sides are
// timed alternately, each repetition in a fresh process, so that a drift of the machine affects
// all. Each variant ends in one call of its side's on_done. Returns false if `stop` was requested
// first: then the workers are killed.
bool time_all(std::vector<TimedSide> sides, std::stop_token stop);

// Compiles experiments, then verifies and times them beside eager, one process at a time. The
// variants of a benchmark share a process with eager, so that a load on the machine slows all of
// them; a compiler of whole functions has a process with eager for itself, in which its first
// compilation is timed. If a load was found nevertheless, the times are measured once more. Each
// variant ends in one call of on_done. Returns false if `stop` was requested first: then the worker
// is killed. An Error if none can be compiled.
Expected<bool> time_beside_eager(const std::vector<Variant>& variants,
                                 const NativeLanguage& language, const TimerOptions& options,
                                 const MeasureEvents& events, std::stop_token stop);

}  // namespace instr
