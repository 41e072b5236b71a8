#include "core/base/format.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/output.h"
#include "core/base/text.h"

namespace instr {

namespace {

constexpr double kMaxExact = 9007199254740992.0;  // 2^53: above it doubles skip integers

std::string group_digits(std::string digits) {
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

}  // namespace

std::string format_count(double value) {
  if (!std::isfinite(value)) return "-";
  if (std::fabs(value) > kMaxExact) return fmt::format("{:.6e}", value);
  const bool integral = value == std::trunc(value);
  std::string text = fmt::format("{:.{}f}", std::fabs(value), integral ? 0 : 1);
  // A fraction must not look like a whole number: 3.96, not 4.0.
  for (int decimals = 2; !integral && text.ends_with('0') && decimals < 5; ++decimals) {
    text = fmt::format("{:.{}f}", std::fabs(value), decimals);
  }
  std::size_t point = std::min(text.find('.'), text.size());
  std::string grouped = group_digits(text.substr(0, point)) + text.substr(point);
  return value < 0 ? "-" + grouped : grouped;
}

std::string format_time(double nanoseconds) {
  if (!std::isfinite(nanoseconds) || nanoseconds < 0) return "-";
  constexpr const char* kUnits[] = {"ns", "\xC2\xB5s", "ms", "s"};
  std::size_t unit = 0;
  // A value that would round to 1,000 becomes 1 of the next unit.
  for (; unit + 1 < std::size(kUnits) && nanoseconds >= 999.5; ++unit) nanoseconds /= 1000;
  int decimals = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
  if (nanoseconds >= 999.5) return format_count(std::round(nanoseconds)) + " s";
  return fmt::format("{:.{}f} {}", nanoseconds, decimals, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 0.0005) return "0 s";
  if (seconds < 0.995) return fmt::format("{:.2g} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  auto whole = static_cast<long long>(std::llround(std::min(seconds, 3.6e9)));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(static_cast<double>(count)), noun,
                     count == 1 ? "" : "s");
}

std::string list_some(const std::vector<std::string>& items) {
  const std::span listed = std::span(items).first(std::min<std::size_t>(items.size(), 3));
  const std::string text = printable(fmt::format("{}", fmt::join(listed, ", ")));
  if (items.size() == listed.size()) return text;
  return text + fmt::format(" and {} more", items.size() - listed.size());
}

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr const char* kEllipsis = "\xE2\x80\xA6";     // U+2026, one column

struct Character {
  utf8proc_int32_t code = -1;  // negative: not valid UTF-8
  std::size_t bytes = 1;
};

Character decode_character(std::string_view text) {
  Character character;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &character.code);
  if (length > 0) character.bytes = static_cast<std::size_t>(length);
  return character;
}

// Removes the first character of `text`.
Character take_character(std::string_view& text) {
  const Character character = decode_character(text);
  text.remove_prefix(character.bytes);
  return character;
}

std::size_t column_width(const Character& character) {
  return character.code < 0 ? 1 : static_cast<std::size_t>(utf8proc_charwidth(character.code));
}

// The longest prefix of `text` that fits into `width` columns.
std::string_view fitting_start(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t taken = text.size() - rest.size();
    used += column_width(take_character(rest));
    if (used > width) return text.substr(0, taken);
  }
  return text;
}

// The longest suffix of `text` that fits into `width` columns.
std::string_view fitting_end(std::string_view text, std::size_t width) {
  for (std::size_t left = display_width(text); left > width;) {
    left -= column_width(take_character(text));
  }
  // A combining mark without its base character would sit on the ellipsis.
  while (!text.empty() && column_width(decode_character(text)) == 0) take_character(text);
  return text;
}

// Characters that printable() replaces: control characters, those that change the direction of the
// text after them, and bytes that are not UTF-8.
bool is_unsafe(const Character& character) {
  const auto code = character.code;
  const bool changes_direction =
      (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0 || changes_direction || utf8proc_category(code) == UTF8PROC_CATEGORY_CC;
}

// Soft hyphens, joiners, marks of direction, the byte order mark, line and paragraph separators.
bool is_invisible(utf8proc_int32_t code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

void wrap_line(std::string_view line, std::size_t width, std::vector<std::string>& lines) {
  if (width == 0 || display_width(line) <= width) {
    lines.emplace_back(trim_end(line, " "));
    return;
  }
  std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  // An indentation of more than half the width is dropped.
  std::string start(indent * 2 <= width ? indent : 0, ' ');
  std::string current = start;
  bool empty = true;
  for (std::size_t at = indent; at < line.size();) {
    std::size_t end = std::min(line.find(' ', at), line.size());
    std::string_view word = line.substr(at, end - at);
    std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    if (!empty && display_width(current) + display_width(word) > width) {
      lines.emplace_back(trim_end(current, " "));
      current = start;
    }
    current += word;
    current += line.substr(end, next - end);
    empty = false;
    at = next;
  }
  lines.emplace_back(trim_end(current, " "));
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const Character character = decode_character(text);
  return character.code < 0 ? 0 : character.bytes;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += column_width(take_character(text));
  return width;
}

std::string printable(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view before = text;
    const Character character = take_character(text);
    const std::string_view bytes = before.substr(0, character.bytes);
    if (bytes == "\n" || bytes == "\r") {
      if (bytes == "\r" && text.starts_with('\n')) continue;
      out += lines ? '\n' : ' ';
      column = 0;
    } else if (bytes == "\t") {
      std::size_t spaces = lines ? 8 - column % 8 : 1;
      out.append(spaces, ' ');
      column += spaces;
    } else if (is_unsafe(character)) {
      out += kReplacement;
      ++column;
    } else {
      out += bytes;
      column += column_width(character);
    }
  }
  return out;
}

std::string with_visible_controls(std::string_view text, bool keeps_styles) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const std::size_t style = keeps_styles ? style_length(text) : 0;
    const Character character = take_character(text);
    std::string_view bytes = before.substr(0, character.bytes);
    if (style > 0) {
      bytes = before.substr(0, style);
      text = before.substr(style);
    } else if (bytes == "\r" && text.starts_with('\n')) {
      continue;
    } else if (bytes != "\n" && bytes != "\t" && is_unsafe(character)) {
      for (const char byte : bytes) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
      continue;
    }
    out += bytes;
  }
  return out;
}

bool is_plain_line(std::string_view text) {
  while (!text.empty()) {
    const Character character = take_character(text);
    if (is_unsafe(character) || is_invisible(character.code)) return false;
  }
  return true;
}

std::string printable_xml(std::string_view text, bool lines) {
  std::string out = printable(text, lines);
  // U+FFFE and U+FFFF can be shown, and XML 1.0 forbids them.
  for (std::string_view forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (auto at = out.find(forbidden); at != std::string::npos; at = out.find(forbidden, at)) {
      out.replace(at, forbidden.size(), kReplacement);
    }
  }
  return out;
}

std::string shorten_end(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  return std::string(fitting_start(text, width - 1)) + kEllipsis;
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  // The end distinguishes variants (n=64), so it gets the odd column.
  std::size_t tail = width / 2;
  return fmt::format("{}{}{}", fitting_start(text, width - 1 - tail), kEllipsis,
                     fitting_end(text, tail));
}

std::string pad_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    wrap_line(text.substr(begin, end - begin), width, lines);
    begin = end + 1;
  }
  return lines;
}

}  // namespace instr
