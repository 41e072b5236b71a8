// The reports of compilers and the times by operator as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/results/json_reader.h"
#include "core/results/measurement.h"

namespace instr {

// {"graph_breaks": [{"place", "reason", "count"}, ...], "recompilations": the same,
// "unlowered": {name: number}, "counters": {group: {name: number}}}, without empty members.
nlohmann::ordered_json to_json(const CompilerReport& report);

// {"name", "on_device", "calls", "self", "total"}, times in nanoseconds.
nlohmann::ordered_json to_json(const OperatorTime& time);

// Reads what to_json() makes; malformed parts are left out.
CompilerReport compiler_from(JsonValue json);

std::vector<OperatorTime> operators_from(const std::vector<JsonValue>& list);

// Read the two last members of a report.
std::map<std::string, std::uint64_t> unlowered_from(JsonValue json);
std::map<std::string, std::map<std::string, double>> counters_from(JsonValue json);

}  // namespace instr
