// The report of a compiler of whole functions, from the worker's JSON (instr_compiler.py):
// {"breaks": [{"file", "line", "text", "count"}, ...], "recompiles": the same,
// "unlowered": {name: number}, "counters": {group: {name: number}}}.
#pragma once

#include <string_view>

#include "core/definitions/variant.h"
#include "core/results/measurement.h"

namespace instr {

// The most columns of a reason: it stays a line.
inline constexpr std::size_t kMaxReasonLength = 300;

// Places in the variant's texts are those of its TOML file. What is malformed is left out.
CompilerReport parse_compiler_report(std::string_view json, const Variant& variant);

}  // namespace instr
