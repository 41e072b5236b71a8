// Experiments that share a process with eager.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/measure/native_worker.h"
#include "core/measure/timing_request.h"
#include "core/results/measurement.h"

namespace instr {

struct ExperimentCode {
  CompiledVariants to_verify;
  CompiledVariants to_time;  // with eager of each benchmark
};

// Measures variants of one benchmark, of which a compiler of whole functions is alone. If their
// process fails, each is measured in another; if that fails without being the variant's own fault,
// without eager beside it. A variant that reaches its time limit fails at once. `on_step` is called
// with what is done next: "compiling and timing".
using OnStep = std::function<void(const std::string& what)>;
std::vector<Measurement> measure_group(const std::vector<Variant>& variants,
                                       const ExperimentCode& code, NativeWorker& worker,
                                       const TimerOptions& options, const OnStep& on_step);

}  // namespace instr
