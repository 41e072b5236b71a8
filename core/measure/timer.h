// Times compiled variants in native workers, one group at a time with nothing else running:
// variants that differ only in their backend are timed alternately in one process, so that they can
// be compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/measure/native_worker.h"

namespace instr {

// Options of a compiler of whole functions.
struct CompilerOptions {
  std::filesystem::path cache = {};  // folder; empty: the usual one
  std::string logs = {};             // that are kept; words
};

// Adds these to a request that runs compiled variants.
void add_to(wire::Message& request, const CompilerOptions& options);

struct TimerOptions {
  int repetitions = 10;
  double min_time_s = 0.05;              // of one repetition
  double timeout_s = 60;                 // of a variant without its own
  std::uint64_t memory_limit = 0;        // bytes that a process may use; 0: no limit
  bool wants_start = false;              // also time the start of each
  std::vector<std::string> events = {};  // also count these (worker/native/event_counter.h)
  // For a repetition; absent: the variant's own number, or as many as fill min_time_s.
  std::optional<int> iterations = {};
  CompilerOptions compiler = {};
  bool wants_operators = false;  // an experiment's time by operator
};

// Checks that these metrics (kEventMetrics) can be counted on this machine.
Expected<void> check_events(const std::vector<std::string>& metrics);

// Returns the native worker's reply to a request about these variants (worker/wire.h), or how the
// worker was lost.
tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const std::vector<CompiledVariant>& group,
                                                    const TimerOptions& options);

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
