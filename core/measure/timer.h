// Times compiled variants in native workers, one group at a time with nothing else running:
// variants that differ only in their backend are timed alternately in one process, so that they can
// be compared.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/measure/measure_events.h"
#include "core/measure/timing_request.h"

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

}  // namespace instr
