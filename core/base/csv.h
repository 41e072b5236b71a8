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

// Returns the fields as a record, without a newline. Quotes fields that a reader could misread,
// also one that drops blanks around a field, or skips lines that begin with `#`.
std::string csv_record(const std::vector<std::string>& fields);

// Returns a record with its newline; each field is made printable, then as_cell(): readers stop at
// bytes that are not UTF-8, and some at control characters.
std::string csv_line(std::vector<std::string> fields);

}  // namespace instr
