// Texts: without the blanks around them, as numbers, quoted for a shell, and numbered in tables.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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

// Numbers values in the order in which they first appear, for tables of texts in files.
template <class Value>
class Numbered {
 public:
  std::size_t number_of(const Value& value) {
    const auto [entry, is_new] = numbers_.try_emplace(value, all_.size());
    if (is_new) all_.push_back(value);
    return entry->second;
  }

  const std::vector<Value>& all() const { return all_; }
  std::vector<Value> take() { return std::move(all_); }

 private:
  std::map<Value, std::size_t> numbers_;
  std::vector<Value> all_;
};

}  // namespace instr
