// Requests to a native worker that run variants to time them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/measure/measure_config.h"
#include "core/measure/native_worker.h"

namespace instr {

// Options of a compiler of whole functions.
struct CompilerOptions {
  std::filesystem::path cache = {};  // folder; empty: the usual one
  std::string logs = {};             // words that name the logs to keep
};

// Adds these to a request that runs this compiled variant, and perhaps eager.
void add_to(wire::Message& request, const CompilerOptions& options, const Variant& compiled);

struct TimerOptions {
  MeasureConfig config = {};
  std::uint64_t memory_limit = 0;  // bytes that a process may use; 0: no limit
  CompilerOptions compiler = {};
};

// Variants of a benchmark in one language, which differ only in their backend.
using TimedGroup = std::vector<CompiledVariant>;

// Returns the iterations of a repetition; 0 if the worker chooses them.
int fixed_iterations(const TimedGroup& group, const TimerOptions& options);

// Returns the limit of a process for all of these, each of which has its own besides.
std::chrono::milliseconds sum_timeouts(const TimedGroup& group, const TimerOptions& options);
std::set<std::filesystem::path> units_of(const TimedGroup& group);

// Makes a request to run these in one process (worker/wire.h).
wire::Message make_timing_request(const char* verb, const TimedGroup& group,
                                  const TimerOptions& options);

// Returns the number of the snippet that ran when a process reached a time limit; nothing if it did
// not, or ran none.
std::optional<std::size_t> find_timed_out(const wire::Message& reply);

// Returns the native worker's reply to that request, or how the worker was lost.
tl::expected<wire::Message, std::string> ask_worker(const char* verb, NativeWorker& worker,
                                                    const TimedGroup& group,
                                                    const TimerOptions& options);

}  // namespace instr
