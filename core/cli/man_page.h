// Manual pages, from what the commands declared.
#pragma once

#include <string>

#include "core/cli/completion.h"

namespace instr {

// The page instr_bench-COMMAND(1), and instr_bench(1) of the command that no command means; roff
// with the macros of man(7).
std::string man_page(const CommandSummary& command, bool is_usual);

}  // namespace instr
