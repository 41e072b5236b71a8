// The verdict on whether a backend's results equal eager's. Pure.
#pragma once

#include <filesystem>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"
#include "core/measure/native_worker.h"
#include "core/results/measurement.h"
#include "worker/wire.h"

namespace instr {

// Returns how far values may differ, "Float 1.3e-06 1e-05 Double ...": relative and absolute, by
// LibTorch's names of the data types; all other types must be equal. The defaults are
// torch.testing's; the definition may override them. Under autocast float32 and the type that it
// computes in have at least that type's tolerance.
std::string allowed_differences(const Variant& variant);

// Judges the worker's reply to `verify` (worker/wire.h).
Verification judge(const wire::Message& reply, const Tolerance& tolerance);

// Verification: the native worker runs variants and their eager ones, and compares the results.

// Compiles variants and eager of each, which need not be among them.
Expected<CompiledVariants> compile_with_eager(const std::vector<Variant>& variants, Purpose purpose,
                                              const NativeLanguage& language, std::stop_token stop);

// Adds to a request that runs a candidate that it is verified as well, and the units that this
// needs. Nothing if the candidate or its eager variant did not compile.
void add_verification(wire::Message& request, std::set<std::filesystem::path>& units,
                      const Variant& candidate, const CompiledVariants& compiled);

// Judges the worker's reply about a candidate, in terms of its definition.
Verification judge(const wire::Message& reply, const Variant& candidate);

// The error says how the worker was lost, independently of the candidate.
tl::expected<Verification, std::string> verify(const Variant& candidate,
                                               const CompiledVariants& compiled,
                                               NativeWorker& worker, const TimerOptions& options);

// Compiles the candidates and their eager variants, and verifies them one after the other: each
// ends in one call of on_done, with a measurement that has only a verification. Returns false if
// `stop` was requested first: then the worker is killed. An Error if none can be compiled.
Expected<bool> verify_all(const std::vector<Variant>& candidates, const NativeLanguage& language,
                          const TimerOptions& options, const MeasureEvents& events,
                          std::stop_token stop);

}  // namespace instr
