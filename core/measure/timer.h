// Times compiled variants in native workers, one group at a time with nothing else running: what
// differs in its runtime alone is timed in turns in one process, so that it can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/compile.h"
#include "core/measure/native_worker.h"

namespace instr {

struct TimerOptions {
  int repetitions = 10;
  double min_time_s = 0.05;        // of one repetition
  double timeout_s = 60;           // of one variant that names none itself
  std::uint64_t memory_limit = 0;  // bytes that a process may use; 0: all there are
  bool wants_start = false;        // what it takes each to begin, too
  // Of a repetition; absent: what the variant says, or as many as min_time_s takes.
  std::optional<int> iterations = {};
};

// The native worker's answer to a request that runs these as they are measured (worker/wire.h); or
// what was lost.
tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const std::vector<CompiledVariant>& group,
                                                    const TimerOptions& options);

// What is timed in one worker, and who is told of it.
struct TimedSide {
  std::vector<CompiledVariant> variants;
  NativeWorker& worker;
  TimerOptions options;
  NativeEvents events;
};

// Times what all sides have, one request at a time, on whichever side it is. Of more than one side
// the same benchmarks are timed in turns: one repetition of each side after the other, each in a
// fresh process, so that whatever drifts on the machine drifts for both. Each variant ends in one
// call of its side's on_done. False if `stop` was requested first: then the workers are killed.
bool time_all(std::vector<TimedSide> sides, std::stop_token stop);

}  // namespace instr
