// Texts: without the blanks around them, and as numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace instr {

inline std::string_view trim_end(std::string_view text, std::string_view blanks = " \t") {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

inline std::string_view trim(std::string_view text, std::string_view blanks = " \t") {
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{}
                                         : trim_end(text.substr(first), blanks);
}

inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Numbers in text.

// Parses a text that is a number and nothing else: blanks and a leading "+" are not part of one.
// `format`: the base of an integer; nothing for a floating-point number.
template <class T, class... Format>
std::optional<T> parse_number(std::string_view text, Format... format) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, format...);
  return error == std::errc{} && stopped == end ? std::optional(number) : std::nullopt;
}

}  // namespace instr
