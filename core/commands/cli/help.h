// A command's --help, derived from its declarations.
#pragma once

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

}  // namespace instr
