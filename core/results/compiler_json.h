// A compiler's report (CompilerReport) as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/results/measurement.h"

namespace instr {

// Adds a compiler's report to an experiment's line: `graph_break_reasons` and `recompile_reasons`,
// lists of {"place", "reason", "count"}; `unlowered_operators`, a list of {"name", "count"}; and
// `counters`. Empty members are left out.
void add_compiler(nlohmann::ordered_json& line, const CompilerReport& report);

// Reads counts by name; malformed ones are left out.
std::map<std::string, std::uint64_t> parse_counts(const nlohmann::ordered_json& counts);

// Reads numbers by group and name; malformed ones are left out.
std::map<std::string, std::map<std::string, double>> parse_counters(
    const nlohmann::ordered_json& groups);

// Reads the members that add_compiler() adds; nothing if the line has none of them.
std::optional<CompilerReport> parse_compiler(const nlohmann::ordered_json& line);

}  // namespace instr
