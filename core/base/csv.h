// Comma-separated values, as RFC 4180 has them.
#pragma once

#include <string>
#include <vector>

namespace instr {

// The fields as one line with its end. Fields are quoted where they need it, and made printable
// first, since readers stop at bytes that are not UTF-8, and some at control characters.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace instr
