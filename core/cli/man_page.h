// Manual pages, derived from the commands' declarations.
#pragma once

#include <string>

#include "core/cli/completion.h"

namespace instr {

// The page instr_bench-COMMAND(1), and instr_bench(1) for the default command; roff with the macros
// of man(7).
std::string man_page(const CommandSummary& command, bool is_usual);

}  // namespace instr
