// The environment variables, the program and its version, and the usable cores of this process.
#pragma once

#include <cstdint>
#include <filesystem>
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

// How much memory this program and its children may use.

// Returns the bytes of the machine's memory, or of the control groups that this process is in,
// whichever is least: a container is given a part of the machine.
std::uint64_t machine_memory();

// Returns the least limit of the groups that `groups`, the text of /proc/self/cgroup, names below
// `root`, where they are mounted; the maximum if there is none. Limits of version 1 and 2 are read.
std::uint64_t read_group_limit(const std::string& groups, const std::filesystem::path& root);

// The version as printed by --version and recorded in results files. It comes from CMakeLists.txt.
extern const char* const kProgramVersion;

}  // namespace instr
