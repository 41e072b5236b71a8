#include "core/compile/cpp/self_contained.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace instr {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Characters whose meaning depends on the compiler or its flags: continued lines, trigraphs, line
// ends that only some compilers recognise.
bool is_ambiguous(std::string_view code) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    const char next = i + 1 < code.size() ? code[i + 1] : '\n';
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7F;
    if (is_control && c != '\n' && c != '\t' && !(c == '\r' && next == '\n')) return true;
    if (c == '?' && next == '?') return true;
    if (c != '\\') continue;
    const std::size_t after = code.find_first_not_of(" \t\r", i + 1);
    if (after == std::string_view::npos || code[after] == '\n') return true;
  }
  return false;
}

enum class TokenKind { kWord, kNumber, kString, kCharacter, kPunctuation };

struct Token {
  TokenKind kind;
  std::string_view text;  // of a string: what is between its quotes

  bool is(char c) const { return kind == TokenKind::kPunctuation && text.front() == c; }
  bool is_word(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

// Reads C++ just well enough to distinguish words, numbers, strings and comments. `code` is not
// ambiguous.
class Lexer {
 public:
  explicit Lexer(std::string_view code) : code_(code) {}

  // Returns nothing if a string or a comment is not closed, or its limits are ambiguous.
  std::optional<std::vector<Token>> tokens() {
    while (at_ < code_.size()) {
      if (!step()) return std::nullopt;
    }
    return std::move(tokens_);
  }

 private:
  bool step() {
    const char c = code_[at_];
    if (starts_with("//")) {
      at_ = std::min(code_.find('\n', at_), code_.size());
      return true;
    }
    if (starts_with("/*")) return skip_past("*/", at_ + 2);
    if (c == '"' || c == '\'') return quoted(c);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_word(c)) return word();
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') add(TokenKind::kPunctuation, at_, at_ + 1);
    ++at_;
    return true;
  }

  bool starts_with(std::string_view text) const { return code_.substr(at_, text.size()) == text; }
  char peek(std::size_t ahead) const {
    return at_ + ahead < code_.size() ? code_[at_ + ahead] : '\0';
  }
  void add(TokenKind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({kind, code_.substr(begin, end - begin)});
  }

  bool skip_past(std::string_view end, std::size_t from) {
    const std::size_t begin = code_.find(end, from);
    if (begin == std::string_view::npos) return false;
    at_ = begin + end.size();
    return true;
  }

  bool word() {
    const std::size_t begin = at_;
    while (is_word(peek(0))) ++at_;
    const std::string_view text = code_.substr(begin, at_ - begin);
    if (peek(0) == '"' && is_one_of(text, {"R", "LR", "uR", "UR", "u8R"})) return raw_string();
    add(TokenKind::kWord, begin, at_);
    return true;
  }

  // Preprocessing numbers: 1'000, 0x1p-3, 1.5_km. Compilers end some of them differently, which
  // matters if a string follows.
  bool number() {
    const std::size_t begin = at_;
    for (++at_; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      const char before = code_[at_ - 1];
      const bool is_sign =
          (c == '+' || c == '-') && std::string_view("eEpP").find(before) != std::string_view::npos;
      const bool is_separator = c == '\'' && is_word(peek(1));
      if (!is_word(c) && c != '.' && !is_sign && !is_separator) break;
    }
    add(TokenKind::kNumber, begin, at_);
    return peek(0) != '"' && peek(0) != '\'';
  }

  bool quoted(char quote) {
    const std::size_t begin = at_ + 1;
    for (++at_; at_ < code_.size(); ++at_) {
      if (code_[at_] == '\\') {
        ++at_;
      } else if (code_[at_] == '\n') {
        return false;
      } else if (code_[at_] == quote) {
        add(quote == '"' ? TokenKind::kString : TokenKind::kCharacter, begin, at_++);
        return suffix(quote == '"');
      }
    }
    return false;
  }

  bool raw_string() {
    const std::size_t begin = at_ + 1;
    const std::size_t paren = code_.find_first_of("() \t\n\r\\\"", begin);
    if (paren == std::string_view::npos || code_[paren] != '(' || paren - begin > 16) return false;
    const std::string end = ")" + std::string(code_.substr(begin, paren - begin)) + "\"";
    if (!skip_past(end, paren + 1)) return false;
    add(TokenKind::kString, paren + 1, at_ - end.size());
    return suffix(/*is_string=*/true);
  }

  // "x"s and 'x'_y. Compilers disagree about other words after a string, and about whether
  // "x"R"(y)" has a suffix or a raw string.
  bool suffix(bool is_string) {
    const std::size_t begin = at_;
    while (is_word(peek(0))) ++at_;
    const std::string_view text = code_.substr(begin, at_ - begin);
    if (text.empty()) return true;
    add(TokenKind::kWord, begin, at_);  // g++ takes a macro's name for the macro
    const bool is_known = text.front() == '_' || (is_string && is_one_of(text, {"s", "sv"}));
    return is_known && peek(0) != '"' && peek(0) != '\'';
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

// Returns true for a directive's sign, and for words that act on the preprocessor or query its
// state. A character that is not ASCII may belong to a word or end it.
bool affects_preprocessor(const Token& token) {
  const bool is_ascii = (token.text.empty() ? 0 : token.text.front() & 0x80) == 0;
  return token.is('#') || token.is('\\') || (token.kind == TokenKind::kPunctuation && !is_ascii) ||
         (token.kind == TokenKind::kWord &&
          is_one_of(token.text, {"_Pragma", "__pragma", "__COUNTER__", "import", "export"}));
}

// Two characters that mean another: <: is [, %: is #. <:: is < and :: except before : and >.
bool is_digraph(const std::vector<Token>& tokens, std::size_t at) {
  const auto is = [&](std::size_t ahead, char c) {
    return at + ahead < tokens.size() && tokens[at + ahead].is(c) &&
           tokens[at].text.data() + ahead == tokens[at + ahead].text.data();
  };
  if (is(0, '<') && is(1, ':')) return !is(2, ':') || is(3, ':') || is(3, '>');
  return (is(0, '<') && is(1, '%')) || (is(0, ':') && is(1, '>')) ||
         (is(0, '%') && (is(1, '>') || is(1, ':')));
}

bool are_brackets_closed(const std::vector<Token>& tokens) {
  std::string open;
  for (const Token& token : tokens) {
    if (token.kind != TokenKind::kPunctuation) continue;
    const char c = token.text.front();
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty();
}

// Directives of the assembler (macros, sections, another syntax) and comments would affect the code
// that follows. Of the escapes only line ends and tabs are allowed.
bool is_plain_assembly(std::string_view text) {
  int repeated = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' || text[i] == '"') return false;
    if (text[i] == '\\' && (i + 1 == text.size() || (text[i + 1] != 'n' && text[i + 1] != 't'))) {
      return false;
    }
    if (text[i] != '.' || i + 1 == text.size() || is_digit(text[i + 1])) continue;
    const std::string_view name = text.substr(i + 1, 4);
    repeated += name == "rept" ? 1 : -1;
    if (repeated < 0 || (name != "rept" && name != "endr")) return false;
  }
  return repeated == 0;
}

bool is_assembly_plain(const std::vector<Token>& tokens) {
  const bool has_assembly = std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return token.kind == TokenKind::kWord && is_one_of(token.text, {"asm", "__asm", "__asm__"});
  });
  return !has_assembly || std::all_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return token.kind != TokenKind::kString || is_plain_assembly(token.text);
  });
}

// Tokens that may precede a label's name.
bool may_precede_label(const Token& token) {
  return token.is(';') || token.is('{') || token.is('}') || token.is(':') || token.is(')') ||
         token.is_word("else") || token.is_word("do");
}

}  // namespace

bool is_self_contained(std::string_view code) {
  if (is_ambiguous(code) || !is_complete(code)) return false;
  const auto tokens = Lexer(code).tokens();
  if (!is_assembly_plain(*tokens)) return false;
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    if (affects_preprocessor((*tokens)[i]) || is_digraph(*tokens, i)) return false;
  }
  return true;
}

bool is_complete(std::string_view code) {
  const auto tokens = Lexer(code).tokens();
  return tokens && are_brackets_closed(*tokens);
}

bool jumps_out(std::string_view code) {
  const auto tokens = Lexer(code).tokens();
  if (!tokens) return false;
  std::set<std::string_view> targets;
  std::set<std::string_view> labels;
  for (std::size_t i = 0; i + 1 < tokens->size(); ++i) {
    const Token& token = (*tokens)[i];
    const Token& next = (*tokens)[i + 1];
    const bool is_colon = next.is(':') && (i + 2 == tokens->size() || !(*tokens)[i + 2].is(':'));
    const bool is_first = i == 0 || may_precede_label((*tokens)[i - 1]);
    if (token.is_word("goto")) targets.insert(next.text);
    if (token.kind == TokenKind::kWord && is_colon && is_first) labels.insert(token.text);
  }
  return !std::includes(labels.begin(), labels.end(), targets.begin(), targets.end());
}

}  // namespace instr
