// Options of a comparison: its limits, and what it tolerates.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/commands/cli/command_line.h"
#include "core/run/gate.h"

namespace instr {

// --allow-incomplete.
void declare_incomplete(CommandLine& line, Incomplete& incomplete, const std::string& help);

// --vary.
void declare_vary(CommandLine& line, std::vector<std::string>& vary);

// --accepted.
void declare_accepted(CommandLine& line, std::optional<std::filesystem::path>& accepted);

// All but --baseline and --expect, and their names.
void declare_gate(CommandLine& line, GateOptions& gate, bool& show_same);
const std::vector<std::string>& gate_options();

// The metrics for which there is a limit.
std::vector<std::string> limited_metrics(const GateOptions& gate);

}  // namespace instr
