// The checksum at the end of each line of a results file detects values that a disk, a transfer or
// an editor has changed.
#pragma once

#include <string>
#include <string_view>

namespace instr {

// Adds the checksum (CRC-32) of a line's JSON object as its last member.
std::string sealed(std::string line);

// Returns true if the line ends with a checksum.
bool is_sealed(std::string_view line);

// False if the line has a checksum that does not match.
bool is_as_sealed(std::string_view line);

}  // namespace instr
