// Comma-separated values, as RFC 4180 defines them.
#pragma once

#include <string>
#include <vector>

namespace instr {

// Text that a spreadsheet would take for a formula (it begins with =, +, - or @ and is not a
// number) gets a leading apostrophe, as spreadsheets mark text; other text stays as it is.
// from_cell() removes the apostrophe.
std::string as_cell(const std::string& text);
std::string from_cell(const std::string& cell);

// The fields, each as_cell(), as one line with its end. They are quoted if necessary, and made
// printable first, since readers stop at bytes that are not UTF-8, and some at control characters.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace instr
