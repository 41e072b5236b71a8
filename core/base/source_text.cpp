#include "core/base/source_text.h"

#include <algorithm>
#include <utility>

#include "core/base/format.h"
#include "core/base/read_file.h"

namespace instr {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

Expected<SourceText> read_from_standard_input() {
  TRY_ASSIGN(auto text, read_standard_input(kMaxTextBytes));
  if (!text.empty()) return SourceText::checked(kStandardInput, std::move(text));
  return fail_at({kStandardInput}, "is empty",
                 "pipe a text into this command; one that measures several commits needs a file");
}

}  // namespace

Expected<SourceText> SourceText::read(const fs::path& path) {
  if (path == "-") return read_from_standard_input();
  return read_file(path, kMaxTextBytes).and_then([&path](std::string&& text) {
    return checked(path.string(), std::move(text));
  });
}

Expected<SourceText> SourceText::read_if_exists(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return SourceText(path.string(), "");
  return read(path);
}

Expected<SourceText> SourceText::checked(std::string path, std::string text) {
  SourceText source(std::move(path), std::move(text));
  TRY(source.check_text());
  return source;
}

SourceText::SourceText(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  line_starts_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    line_starts_.push_back(at + 1);
  }
}

Expected<void> SourceText::check_text() const {
  std::string_view left = text_;
  while (!left.empty()) {
    const std::size_t length = left.front() == '\0' ? 0 : utf8_length(left);
    if (length > 0) {
      left.remove_prefix(length);
      continue;
    }
    return fail_at(place(text_.size() - left.size()),
                   left.front() == '\0'
                       ? "a zero byte: this is a binary file"
                       : "a byte that is not valid UTF-8: this is a binary file, or "
                         "text in another encoding",
                   "it must be text in UTF-8");
  }
  return {};
}

std::string SourceText::with_line_ends(const std::string& text) const {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos || end == 0 || text_[end - 1] != '\r') return text;
  std::string lines;
  for (const char c : text) {
    if (c == '\n' && !lines.ends_with('\r')) lines += '\r';
    lines += c;
  }
  return lines;
}

fs::path SourceText::beside(const std::string& path) const {
  std::error_code error;
  const fs::path joined = fs::path(path_).parent_path() / path;
  const fs::path absolute = fs::absolute(joined, error);
  return (error ? joined : absolute).lexically_normal();
}

SourceLocation SourceText::place(std::size_t offset) const {
  const auto next_line = std::ranges::upper_bound(line_starts_, offset);
  int column = 1;
  for (std::size_t i = *(next_line - 1); i < offset; ++i) column += (text_[i] & 0xC0) != 0x80;
  return at(static_cast<int>(next_line - line_starts_.begin()), column);
}

std::size_t SourceText::offset(int line, int column) const {
  if (line < 1 || static_cast<std::size_t>(line) > line_starts_.size()) return text_.size();
  std::size_t at = line_starts_[static_cast<std::size_t>(line) - 1];
  for (int passed = 1; passed < column && at < text_.size(); ++passed) {
    do {
      ++at;
    } while (at < text_.size() && (text_[at] & 0xC0) == 0x80);
  }
  return at;
}

SourceLocation SourceText::content_of_string(int line, int column) const {
  const std::string_view rest = std::string_view(text_).substr(offset(line, column));
  if (!rest.starts_with("\"\"\"") && !rest.starts_with("'''")) return at(line, column + 1);
  std::size_t i = 3;
  column += 3;
  const auto step = [&] {
    if (rest[i++] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  };
  // TOML drops a newline directly after the opening quotes ...
  if (rest.substr(i).starts_with("\r\n")) step();
  if (rest.substr(i).starts_with('\n')) step();
  // ... and in basic strings a backslash with all the blanks and newlines that follow it.
  while (rest.front() == '"' && rest.substr(i).starts_with('\\')) {
    const std::size_t end = std::min(rest.find_first_not_of(kBlanks, i + 1), rest.size());
    const std::string_view blanks = rest.substr(i + 1, end - i - 1);
    if (blanks.find('\n') == std::string_view::npos) break;
    step();
    while (i < end) step();
  }
  return at(line, column);
}

}  // namespace instr
