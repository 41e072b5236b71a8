// The options of a command that say which definitions it measured, so that another command measures
// the same.
#pragma once

#include <string>
#include <vector>

namespace instr {

// Returns these options of the command, each as one word: {"--definitions=bench.toml"}. The path of
// a file below `project` becomes relative to it; empty: no path changes.
std::vector<std::string> select_definition_options(const std::vector<std::string>& command,
                                                   const std::string& project);

}  // namespace instr
