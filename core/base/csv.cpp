#include "core/base/csv.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/format.h"

namespace instr {

namespace {

std::string csv_field(const std::string& text) {
  bool needs_quotes = text.find_first_of(",\"\r\n") != std::string::npos || text.starts_with(' ') ||
                      text.ends_with(' ');
  if (!needs_quotes) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// Whether `text` begins like a formula, after any number of apostrophes.
bool begins_as_formula(const std::string& text) {
  std::size_t first = text.find_first_not_of('\'');
  if (first == std::string::npos) return false;
  return std::string_view("=+-@").find(text[first]) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

std::string as_cell(const std::string& text) {
  return begins_as_formula(text) && !is_number(text) ? "'" + text : text;
}

std::string from_cell(const std::string& cell) {
  return cell.starts_with('\'') && begins_as_formula(cell) ? cell.substr(1) : cell;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(as_cell(printable(field, true)));
  }
  return line + "\r\n";
}

}  // namespace instr
