#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/base/trim.h"

namespace instr {

namespace {

// Above this, doubles are no longer exact integers, and printing all digits would claim too much.
constexpr double kMaxExact = 9007199254740992.0;  // 2^53

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

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr const char* kEllipsis = "\xE2\x80\xA6";     // U+2026, one column

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// The lead byte's mask, the sequence's length and its smallest code point (a shorter form is not
// UTF-8).
struct Form {
  unsigned char mask;
  unsigned char lead;
  std::size_t bytes;
  char32_t min;
};

Character decode_character(std::string_view text) {
  static constexpr std::array<Form, 4> kForms{{{0x80, 0x00, 1, 0x0},
                                               {0xE0, 0xC0, 2, 0x80},
                                               {0xF0, 0xE0, 3, 0x800},
                                               {0xF8, 0xF0, 4, 0x10000}}};
  auto first = static_cast<unsigned char>(text[0]);
  for (const Form& form : kForms) {
    if ((first & form.mask) != form.lead) continue;
    if (text.size() < form.bytes) return {first, 1, false};
    char32_t code = first & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < form.bytes; ++i) {
      auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xC0) != 0x80) return {first, 1, false};
      code = code << 6 | (next & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < form.min || code > 0x10FFFF || surrogate) return {first, 1, false};
    return {code, form.bytes, true};
  }
  return {first, 1, false};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool is_in(char32_t code, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

// Combining marks, joiners and variation selectors of the scripts that labels may use. A table,
// since wcwidth() depends on the locale and does not work in the C locale.
constexpr std::array<Range, 16> kZeroWidth{{{0x300, 0x36F},
                                            {0x483, 0x489},
                                            {0x591, 0x5BD},
                                            {0x610, 0x61A},
                                            {0x64B, 0x65F},
                                            {0x93C, 0x93C},
                                            {0x941, 0x948},
                                            {0x94D, 0x94D},
                                            {0xE31, 0xE31},
                                            {0xE34, 0xE3A},
                                            {0x1AB0, 0x1AFF},
                                            {0x1DC0, 0x1DFF},
                                            {0x200B, 0x200F},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F},
                                            {0xFE20, 0xFE2F}}};

constexpr std::array<Range, 12> kWide{{{0x1100, 0x115F},
                                       {0x2E80, 0x303E},
                                       {0x3041, 0x33FF},
                                       {0x3400, 0x4DBF},
                                       {0x4E00, 0x9FFF},
                                       {0xA000, 0xA4CF},
                                       {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},
                                       {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},
                                       {0x1F300, 0x1FAFF},
                                       {0x20000, 0x3FFFD}}};

std::size_t width_of(const Character& character) {
  if (!character.valid) return 1;
  if (character.code < 0x300) return 1;
  if (is_in(character.code, kZeroWidth)) return 0;
  return is_in(character.code, kWide) ? 2 : 1;
}

// Length in bytes of the longest prefix of `text` that fits into `width` columns.
std::size_t fitting_start(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    Character character = decode_character(text.substr(at));
    used += width_of(character);
    if (used > width) break;
    at += character.bytes;
  }
  return at;
}

// First byte of the longest suffix of `text` that fits into `width` columns.
std::size_t fitting_end(std::string_view text, std::size_t width) {
  std::size_t left = display_width(text);
  std::size_t at = 0;
  while (at < text.size() && left > width) {
    Character character = decode_character(text.substr(at));
    left -= width_of(character);
    at += character.bytes;
  }
  // A combining mark without its base character would sit on the ellipsis.
  while (at < text.size()) {
    Character character = decode_character(text.substr(at));
    if (width_of(character) != 0) break;
    at += character.bytes;
  }
  return at;
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Characters that change the direction or the order of the text after them.
bool is_direction(char32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// A character that printable() replaces.
bool is_unsafe(const Character& character) {
  return !character.valid || is_control(character.code) || is_direction(character.code);
}

// Soft hyphen, joiners and marks of direction without a width, invisible operators, the byte order
// mark, line and paragraph separators.
bool is_invisible(char32_t code) {
  return code == 0xAD || code == 0xFEFF || (code >= 0x200B && code <= 0x200F) || code == 0x2028 ||
         code == 0x2029 || (code >= 0x2060 && code <= 0x2064);
}

void wrap_line(std::string_view line, std::size_t width, std::vector<std::string>& lines) {
  if (width == 0 || display_width(line) <= width) {
    lines.emplace_back(trim_end(line, " "));
    return;
  }
  std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  // An indentation that leaves no space for words is not worth keeping.
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
  return character.valid ? character.bytes : 0;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    Character character = decode_character(text.substr(at));
    width += width_of(character);
    at += character.bytes;
  }
  return width;
}

std::string printable(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    Character character = decode_character(text.substr(at));
    std::string_view bytes = text.substr(at, character.bytes);
    at += character.bytes;
    if (bytes == "\n" || bytes == "\r") {
      if (bytes == "\r" && at < text.size() && text[at] == '\n') continue;
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
      column += width_of(character);
    }
  }
  return out;
}

bool is_plain_line(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode_character(text.substr(at));
    at += character.bytes;
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
  return std::string(text.substr(0, fitting_start(text, width - 1))) + kEllipsis;
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  // The end distinguishes variants (n=64), so it gets the odd column.
  std::size_t tail = width / 2;
  std::size_t head = width - 1 - tail;
  return std::string(text.substr(0, fitting_start(text, head))) + kEllipsis +
         std::string(text.substr(fitting_end(text, tail)));
}

std::string pad_left(std::string_view text, std::size_t width) {
  std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  std::size_t used = display_width(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
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
