// A compiler's report as members of an experiment's line: `graph_break_reasons` and
// `recompile_reasons`, lists of {"place", "reason", "count"}; `unlowered_operators`, a list of
// {"name", "count"}; and `counters`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/values/measurement.h"

namespace instr {

// What is empty is left out.
void add_compiler(nlohmann::ordered_json& line, const CompilerReport& report);

// Counts by name; what is malformed is left out.
std::map<std::string, std::uint64_t> parse_counts(const nlohmann::ordered_json& counts);

// Numbers by group and name; what is malformed is left out.
std::map<std::string, std::map<std::string, double>> parse_counters(
    const nlohmann::ordered_json& groups);

// Nothing if the line has none of it.
std::optional<CompilerReport> parse_compiler(const nlohmann::ordered_json& line);

}  // namespace instr
