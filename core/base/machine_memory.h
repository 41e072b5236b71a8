// How much memory this program and its children may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace instr {

// Returns the bytes of the machine's memory, or of the control groups that this process is in,
// whichever is least: a container is given a part of the machine.
std::uint64_t machine_memory();

// Returns the least limit of the groups that `groups`, the text of /proc/self/cgroup, names below
// `root`, where they are mounted; the maximum if there is none. Limits of version 1 and 2 are read.
std::uint64_t read_group_limit(const std::string& groups, const std::filesystem::path& root);

}  // namespace instr
