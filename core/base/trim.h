// Removes blanks around text; the caller's format decides which characters are blanks.
#pragma once

#include <string_view>

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

}  // namespace instr
