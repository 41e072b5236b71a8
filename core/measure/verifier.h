// Has the native worker run variants and their eager ones, and compare the results.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/compiled_variant.h"
#include "core/measure/native_worker.h"
#include "core/measure/timer.h"

namespace instr {

// Compiles the candidates and their eager variants.
Expected<CompiledVariants> compile_for_verification(const std::vector<Variant>& candidates,
                                                    const NativeLanguage& language,
                                                    std::stop_token stop);

// The error says how the worker was lost, for which the candidate is not to blame.
tl::expected<Verification, std::string> verify(const Variant& candidate,
                                               const CompiledVariants& compiled,
                                               NativeWorker& worker, const TimerOptions& options);

// Compiles the candidates and their eager variants for this, and verifies one after the other: each
// ends in one call of on_done, with a measurement that has only a verification. False if `stop` was
// requested first: then the worker is killed; an Error if none can be verified at all.
Expected<bool> verify_all(const std::vector<Variant>& candidates, const NativeLanguage& language,
                          const TimerOptions& options, const NativeEvents& events,
                          std::stop_token stop);

}  // namespace instr
