// Options of a comparison: the limits, and the conditions that it tolerates.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/commands/cli/command_line.h"
#include "core/run/gate.h"

namespace instr {

void declare_incomplete(CommandLine& line, Incomplete& incomplete, const std::string& help);
void declare_vary(CommandLine& line, std::vector<std::string>& vary);
void declare_accepted(CommandLine& line, std::optional<std::filesystem::path>& accepted);

// Declares all options of a comparison but --baseline and --expect. Their names.
void declare_gate(CommandLine& line, GateOptions& gate, bool& show_same);
const std::vector<std::string>& gate_options();

// The metrics that have a limit.
std::vector<std::string> limited_metrics(const GateOptions& gate);

}  // namespace instr
