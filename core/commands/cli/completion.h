// Completion scripts for shells, derived from the commands' declarations. They run nothing but
// `instr_bench list`, for the keys.
#pragma once

#include <span>
#include <string>

#include "core/commands/cli/command_line.h"

namespace instr {

struct CommandSummary {
  const CommandLine* line = nullptr;
  std::string text;  // its line in the list of commands
};

// The first command is the default one.
std::string bash_completion(std::span<const CommandSummary> commands);
std::string zsh_completion(std::span<const CommandSummary> commands);
std::string fish_completion(std::span<const CommandSummary> commands);

}  // namespace instr
