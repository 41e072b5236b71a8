// A command's --help, derived from its declarations.
#pragma once

#include <string>

#include "core/commands/cli/command_line.h"

namespace instr {

// "instr_bench compare BASE NEW [options]".
std::string usage_of(const CommandLine& line);

// "-o, --output=FILE".
std::string names_of(const OptionInfo& option);

// The names, and their help beside them or, if they are too long for that, below.
std::string help_entry(const std::string& names, const std::string& help);

// For 80 columns; ends with a newline.
std::string help_text(const CommandLine& line);

}  // namespace instr
