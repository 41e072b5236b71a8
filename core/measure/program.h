// Counts whole programs, benchmarks of Google Benchmark's programs, and imports of modules.
#pragma once

#include <stop_token>

#include "core/measure/program_run.h"

namespace instr {

// Runs the variant's program, twice if one run does not tell whether its count is steady, and
// returns what a worker would reply: `measured`, with the profile, or `failed`. Nothing that the
// program has started is left running.
wire::Message count_program(const Variant& variant, const ProgramOptions& options,
                            const std::stop_token& stop);

}  // namespace instr
