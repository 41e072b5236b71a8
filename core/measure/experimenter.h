#pragma once

#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/measure/native_worker.h"
#include "core/measure/timer.h"

namespace instr {

// Compiles the variants, then verifies and measures each in fresh processes of the native worker,
// one at a time with nothing else running; each ends in one call of on_done. Returns false if
// `stop` was requested first: then the worker is killed. An Error if none can be compiled.
Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const MeasureEvents& events,
                               std::stop_token stop);

}  // namespace instr
