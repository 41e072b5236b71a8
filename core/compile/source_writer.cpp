#include "core/compile/source_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/compile/cpp/generate_cpp.h"

namespace instr {

namespace {

constexpr std::size_t kScriptIndent = 4;  // indentation of the body in its function

// The lines of a TorchScript text that are part of its body.
struct ScriptLines {
  std::vector<std::size_t> numbers;             // line numbers from 0
  std::size_t indentation = std::string::npos;  // common to all of them
};

ScriptLines find_script_lines(const std::vector<std::string>& lines) {
  ScriptLines script;
  for (std::size_t number = 0; number < lines.size(); ++number) {
    if (is_blank(lines[number])) continue;
    script.numbers.push_back(number);
    script.indentation = std::min(script.indentation, lines[number].find_first_not_of(" \t"));
  }
  return script;
}

// Returns the place of byte `at` of a line; a text may begin anywhere in its first line.
SourceLocation place_in(const Text& text, std::size_t line, std::size_t at) {
  SourceLocation place = text.where;
  if (place.line == 0) return place;
  place.line += static_cast<int>(line);
  place.column = static_cast<int>(at) + (line == 0 ? std::max(place.column, 1) : 1);
  return place;
}

}  // namespace

std::string to_cpp_literal(std::string_view text) {
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
  if (with_places_)
    text_ += fmt::format("#line 1 {}\n", to_cpp_literal(make_line_marker(symbol_, "")));
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
                         to_cpp_literal(make_line_marker(symbol_, where.file)));
    if (where.column > 1) text_.append(static_cast<std::size_t>(where.column - 1), ' ');
  }
  text_ += code;
  text_ += '\n';
}

std::string join_names(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> to_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string format_script_body(std::string_view text) {
  const auto lines = to_lines(text);
  const ScriptLines script = find_script_lines(lines);
  std::string body;
  for (std::size_t number : script.numbers) {
    body += std::string(kScriptIndent, ' ') + lines[number].substr(script.indentation) + "\n";
  }
  return body;
}

std::optional<SourceLocation> find_place_in_script(const Text& script, int line, int column) {
  const auto lines = to_lines(script.code);
  const ScriptLines known = find_script_lines(lines);
  if (line < 1 || static_cast<std::size_t>(line) > known.numbers.size()) return std::nullopt;
  const std::size_t number = known.numbers[static_cast<std::size_t>(line - 1)];
  const auto in_body = static_cast<std::size_t>(std::max(column - 1, 0));
  const std::size_t at = in_body < kScriptIndent ? lines[number].find_first_not_of(" \t")
                                                 : in_body - kScriptIndent + known.indentation;
  return place_in(script, number, at);
}

SourceLocation find_place_in_text(const Text& text, int line, int column) {
  const auto lines = to_lines(text.code);
  const std::size_t number = static_cast<std::size_t>(std::max(line, 1)) - 1;
  if (number >= lines.size()) return find_script_end(text);
  const std::size_t first = lines[number].find_first_not_of(" \t");
  if (column < 1) return place_in(text, number, first == std::string::npos ? 0 : first);
  const std::size_t indentation = find_script_lines(lines).indentation;
  const std::size_t common = indentation == std::string::npos ? 0 : indentation;
  return place_in(text, number, common + static_cast<std::size_t>(column) - 1);
}

SourceLocation find_script_end(const Text& script) {
  const auto lines = to_lines(script.code);
  const ScriptLines known = find_script_lines(lines);
  if (known.numbers.empty()) return script.where;
  const std::string& last = lines[known.numbers.back()];
  return place_in(script, known.numbers.back(), last.find_last_not_of(" \t\r") + 1);
}

SourceLocation find_first_place(const Text& text) {
  const auto lines = to_lines(text.code);
  for (std::size_t number = 0; number < lines.size(); ++number) {
    if (is_blank(lines[number])) continue;
    return place_in(text, number, lines[number].find_first_not_of(" \t"));
  }
  return text.where;
}

}  // namespace instr
