// Experiments: variants that are verified against eager and timed beside it.
#pragma once

#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/measure/native_worker.h"
#include "core/measure/timing_request.h"

namespace instr {

// Compiles the variants, then verifies and times them in processes of the native worker, one at a
// time with nothing else running. The variants of a benchmark share a process with eager, so that
// a load on the machine slows all of them; a compiler of whole functions has a process with eager
// for itself, in which its first compilation is timed. If a load was found nevertheless, the times
// are measured once more. Each variant ends in one call of on_done. Returns false if `stop` was
// requested first: then the worker is killed. An Error if none can be compiled.
Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const MeasureEvents& events,
                               std::stop_token stop);

}  // namespace instr
