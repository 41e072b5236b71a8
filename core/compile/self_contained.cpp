#include <string>
#include <vector>

#include "core/compile/generate.h"

namespace instr {

namespace {

// Reads C++ just well enough to know strings, comments and brackets apart.
class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  bool is_complete() {
    while (at_ < code_.size()) {
      if (!step()) return false;
    }
    return open_.empty();
  }

 private:
  bool step() {
    char c = code_[at_];
    if (starts_with("//")) return skip_line_comment();
    if (starts_with("/*")) return skip_past("*/", at_ + 2);
    if (c == '"') return follows_raw_prefix() ? skip_raw_string() : skip_quoted('"');
    if (c == '\'' && !is_digit_separator()) return skip_quoted('\'');
    if (c == '#') return false;  // outside strings and comments: a directive
    ++at_;
    if (c == '(' || c == '[' || c == '{') open_ += c;
    if (c == ')') return close('(');
    if (c == ']') return close('[');
    if (c == '}') return close('{');
    return true;
  }

  bool starts_with(std::string_view text) const { return code_.substr(at_, text.size()) == text; }

  bool close(char opening) {
    if (open_.empty() || open_.back() != opening) return false;
    open_.pop_back();
    return true;
  }

  bool skip_past(std::string_view end, std::size_t from) {
    std::size_t found = code_.find(end, from);
    if (found == std::string_view::npos) return false;
    at_ = found + end.size();
    return true;
  }

  // A backslash at a comment's end carries it on to the next line; one at the end of all would
  // reach the blank line that follows every text, no further.
  bool skip_line_comment() {
    while (at_ < code_.size()) {
      if (code_[at_] == '\\') ++at_;
      else if (code_[at_] == '\n') return true;
      ++at_;
    }
    return true;
  }

  bool skip_quoted(char quote) {
    for (++at_; at_ < code_.size(); ++at_) {
      if (code_[at_] == '\\') ++at_;
      else if (code_[at_] == '\n') return false;
      else if (code_[at_] == quote) {
        ++at_;
        return true;
      }
    }
    return false;
  }

  bool follows_raw_prefix() const {
    if (at_ == 0 || code_[at_ - 1] != 'R') return false;
    std::size_t begin = at_ - 1;
    while (begin > 0 && is_word(code_[begin - 1])) --begin;
    std::string_view prefix = code_.substr(begin, at_ - begin);
    return prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R";
  }

  bool skip_raw_string() {
    std::size_t paren = code_.find('(', at_);
    if (paren == std::string_view::npos) return false;
    std::string end = ")" + std::string(code_.substr(at_ + 1, paren - at_ - 1)) + "\"";
    return skip_past(end, paren + 1);
  }

  // 1'000: a quote within a number. u8'x' and L'x' are characters, though a word precedes them.
  bool is_digit_separator() const {
    std::size_t begin = at_;
    while (begin > 0 && (is_word(code_[begin - 1]) || code_[begin - 1] == '\'')) --begin;
    return begin < at_ && code_[begin] >= '0' && code_[begin] <= '9';
  }

  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::string open_;  // brackets not closed yet
};

}  // namespace

bool is_self_contained(std::string_view code) { return Scanner(code).is_complete(); }

}  // namespace instr
