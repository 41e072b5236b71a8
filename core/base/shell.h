// Text for a shell's command line.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace instr {

// Quotes `text` as one word, for POSIX shells.
inline std::string shell_quoted(std::string_view text) {
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Quotes `text` only if a shell would not take all its characters literally.
inline std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 ||
           std::string_view("_-./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  return shell_quoted(text);
}

// A command that runs a script of users, such as a build: a step that fails ends it.
inline std::vector<std::string> bash_command(std::string script) {
  return {"bash", "-euo", "pipefail", "-c", std::move(script)};
}

}  // namespace instr
