#include "core/base/csv.h"

#include "core/base/format.h"

namespace instr {

namespace {

std::string csv_field(const std::string& text) {
  bool needs_quotes = text.find_first_of(",\"\r\n") != std::string::npos ||
                      text.starts_with(' ') || text.ends_with(' ');
  if (!needs_quotes) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(printable(field, true));
  }
  return line + "\r\n";
}

}  // namespace instr
