// Text for a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace instr {

// 'text' as one word, for shells that follow POSIX.
inline std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace instr
