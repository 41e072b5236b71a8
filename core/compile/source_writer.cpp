#include "core/compile/source_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/trim.h"
#include "core/compile/generate.h"

namespace instr {

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void Writer::glue(std::string_view code) {
  if (with_places_) text_ += fmt::format("#line 1 {}\n", literal(line_marker(symbol_, "")));
  text_ += code;
  text_ += '\n';
}

void Writer::user(const Text& text) {
  put(text.where, text.code);
  text_ += '\n';
}

void Writer::put(const SourceLocation& where, std::string_view code) {
  if (with_places_) {
    text_ += fmt::format("#line {} {}\n", where.line > 0 ? where.line : 1,
                         literal(line_marker(symbol_, where.file)));
    if (where.column > 1) text_.append(static_cast<std::size_t>(where.column - 1), ' ');
  }
  text_ += code;
  text_ += '\n';
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string script_body(std::string_view text) {
  auto lines = lines_of(text);
  std::size_t least = std::string::npos;
  for (const auto& line : lines) {
    if (!is_blank(line)) least = std::min(least, line.find_first_not_of(" \t"));
  }
  std::string body;
  for (const auto& line : lines) {
    if (!is_blank(line)) body += "    " + line.substr(least) + "\n";
  }
  return body;
}

}  // namespace instr
