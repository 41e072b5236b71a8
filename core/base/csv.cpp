#include "core/base/csv.h"

#include <cmath>
#include <string_view>

#include "core/base/format.h"
#include "core/base/text.h"

namespace instr {

namespace {

std::string csv_field(const std::string& text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string::npos && text == trim(text) &&
                        !text.starts_with('#');
  if (is_plain) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// True if `text` begins like a formula, after any number of apostrophes.
bool begins_as_formula(const std::string& text) {
  std::size_t first = text.find_first_not_of('\'');
  if (first == std::string::npos) return false;
  return std::string_view("=+-@").find(text[first]) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value);
}

}  // namespace

std::string as_cell(const std::string& text) {
  return begins_as_formula(text) && !is_number(text) ? "'" + text : text;
}

std::string from_cell(const std::string& cell) {
  return cell.starts_with('\'') && begins_as_formula(cell) ? cell.substr(1) : cell;
}

std::string csv_record(const std::vector<std::string>& fields) {
  std::string record;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) record += ',';
    record += csv_field(field);
  }
  return record;
}

std::string csv_line(std::vector<std::string> fields) {
  for (std::string& field : fields) field = as_cell(printable(field, true));
  return csv_record(fields) + "\r\n";
}

}  // namespace instr
