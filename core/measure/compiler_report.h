#pragma once

#include <string_view>

#include "core/definitions/variant.h"
#include "core/results/measurement.h"

namespace instr {

inline constexpr std::size_t kMaxReasonLength = 300;  // columns

// Parses the report of a compiler of whole functions, the worker's JSON (instr_compiler.py):
// {"breaks": [{"file", "line", "text", "count"}, ...], "recompiles": the same,
// "unlowered": {name: number}, "counters": {group: {name: number}}}.
// Places in the variant's texts become those of its TOML file. Malformed parts are left out.
CompilerReport parse_compiler_report(std::string_view json, const Variant& variant);

}  // namespace instr
