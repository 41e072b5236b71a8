// The environment variables, the program and the usable cores of this process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace instr {

// Returns this process's environment variables, "NAME=value" each, with some replaced or added.
std::vector<std::string> own_environment(const std::map<std::string, std::string>& changes = {});

// The value of a variable that is set and not empty.
std::optional<std::string> variable_value(const std::string& name);

// The path of this program.
std::string own_program();

// The numbers of the cores that this process may run on, ascending; at least one.
std::vector<int> usable_cores();

}  // namespace instr
