// The times by operator as a member of an experiment's line: `operators`, a list of {"name",
// "on_device", "calls", "self_time", "total_time"}, in seconds of one iteration.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/values/operator_times.h"

namespace instr {

// Left out if there are none.
void add_operators(nlohmann::ordered_json& line, const std::vector<OperatorTime>& operators);

std::vector<OperatorTime> parse_operators(const nlohmann::ordered_json& line);

}  // namespace instr
