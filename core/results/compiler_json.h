// A compiler's report (CompilerReport) as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/results/measurement.h"

namespace instr {

// A compiler's report as members of an experiment's line: `graph_break_reasons` and
// `recompile_reasons`, lists of {"place", "reason", "count"}; `unlowered_operators`, a list of
// {"name", "count"}; and `counters`. What is empty is left out.
void add_compiler(nlohmann::ordered_json& line, const CompilerReport& report);

// Counts by name; what is malformed is left out.
std::map<std::string, std::uint64_t> parse_counts(const nlohmann::ordered_json& counts);

// Numbers by group and name; what is malformed is left out.
std::map<std::string, std::map<std::string, double>> parse_counters(
    const nlohmann::ordered_json& groups);

// The inverse of add_compiler(); nothing if the line has none of it.
std::optional<CompilerReport> parse_compiler(const nlohmann::ordered_json& line);

}  // namespace instr
