#include "core/compare/text_edits.h"

#include <algorithm>

#include "core/base/trim.h"

namespace instr {
namespace {

// The end of the blank lines that begin at `begin`, which is the begin of a line.
std::size_t blank_end(std::string_view text, std::size_t begin) {
  const auto first = text.find_first_not_of(" \t\r\n", begin);
  if (first == std::string_view::npos) return text.size();
  const auto newline = text.substr(0, first).rfind('\n');
  return newline == std::string_view::npos ? begin : std::max(begin, newline + 1);
}

// The lines, with one of the two runs of blank lines around them if there are two.
TextSpan with_blanks(std::string_view text, TextSpan lines) {
  const std::size_t begin = blank_begin(text, lines.begin);
  const std::size_t end = blank_end(text, lines.end);
  if (end == text.size()) return {begin, end};
  if (begin < lines.begin || begin == 0) return {lines.begin, end};
  return lines;
}

}  // namespace

std::string edited(std::string_view text, std::vector<TextEdit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const TextEdit& a, const TextEdit& b) { return a.span.begin < b.span.begin; });
  std::string result;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    result += text.substr(at, edit.span.begin - at);
    result += edit.text;
    at = edit.span.end;
  }
  return result += text.substr(at);
}

std::size_t blank_begin(std::string_view text, std::size_t end) {
  const auto last = text.substr(0, end).find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return 0;
  return std::min(text.find('\n', last), end - 1) + 1;
}

std::vector<TextEdit> removals_of(std::string_view text, std::vector<TextSpan> lines) {
  std::sort(lines.begin(), lines.end(),
            [](const TextSpan& a, const TextSpan& b) { return a.begin < b.begin; });
  std::vector<TextEdit> edits;
  for (std::size_t i = 0; i < lines.size();) {
    TextSpan joined = lines[i];
    while (++i < lines.size() && is_blank(text.substr(joined.end, lines[i].begin - joined.end))) {
      joined.end = lines[i].end;
    }
    edits.push_back({with_blanks(text, joined), ""});
  }
  return edits;
}

std::string_view line_end_of(std::string_view text) {
  const auto newline = text.find('\n');
  const bool is_pair =
      newline != std::string_view::npos && newline > 0 && text[newline - 1] == '\r';
  return is_pair ? "\r\n" : "\n";
}

void end_last_line(std::string& text, std::string_view end) {
  // One that ends within its line end already has half of it.
  if (text.ends_with('\r')) text += '\n';
  if (!text.empty() && !text.ends_with('\n')) text += end;
}

}  // namespace instr
