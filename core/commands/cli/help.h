// The help of commands and completions for shells, derived from the declarations.
#pragma once

#include <span>
#include <string>

#include "core/commands/cli/command_line.h"

namespace instr {

// "instr_bench compare BASE NEW [options]".
std::string format_usage(const CommandLine& line);

// "-o, --output=FILE".
std::string format_names(const OptionInfo& option);

// The names, with the help beside them or, below long names, on the next line.
std::string help_entry(const std::string& names, const std::string& help);

// For 80 columns; ends with a newline.
std::string help_text(const CommandLine& line);

// A command with its line in the list of commands.
struct CommandSummary {
  const CommandLine* line = nullptr;
  std::string text;
};

// Completion scripts. They run nothing but `instr_bench list`, for the keys. The first command is
// the default one.
std::string bash_completion(std::span<const CommandSummary> commands);
std::string zsh_completion(std::span<const CommandSummary> commands);
std::string fish_completion(std::span<const CommandSummary> commands);

}  // namespace instr
