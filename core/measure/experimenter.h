// Runs experiments in the native worker: each verified and then measured, in fresh processes, one
// at a time with nothing else running.
#pragma once

#include <stop_token>
#include <vector>

#include "core/base/error.h"
#include "core/measure/native_worker.h"
#include "core/measure/timer.h"

namespace instr {

// Compiles them first; then each ends in one call of on_done. False if `stop` was requested first:
// then the worker is killed. An Error if none can be compiled.
Expected<bool> run_experiments(const std::vector<Variant>& variants, const NativeLanguage& language,
                               const TimerOptions& options, const NativeEvents& events,
                               std::stop_token stop);

}  // namespace instr
