// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace instr {

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
