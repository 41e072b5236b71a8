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

// The fields as a record, without the end of its line. Fields that could be misread are quoted,
// also by readers that drop the blanks around a field, or take a line that begins with `#` for a
// comment.
std::string csv_record(const std::vector<std::string>& fields);

// A record with the end of its line, each field as_cell(). They are made printable first, since
// readers stop at bytes that are not UTF-8, and some at control characters.
std::string csv_line(std::vector<std::string> fields);

}  // namespace instr
