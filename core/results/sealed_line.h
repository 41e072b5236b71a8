// The checksum at the end of each line of a results file: a value that a disk, a transfer or an
// editor has changed must not become a verdict.
#pragma once

#include <string>
#include <string_view>

namespace instr {

// A line's JSON object, with the checksum (CRC-32) of its text as a last member.
std::string sealed(std::string line);

// False if the line has such a checksum and differs from what was sealed.
bool is_as_sealed(std::string_view line);

}  // namespace instr
