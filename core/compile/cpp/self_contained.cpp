#include "core/compile/cpp/self_contained.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/text.h"
#include "core/compile/source_writer.h"

namespace instr {

namespace {

struct Tokens {
  std::vector<std::string_view> all;  // words, numbers, strings, other characters; no comments
  bool is_closed = true;              // strings, comments, brackets
  bool is_clear = true;               // false if compilers may disagree about where a string ends
};

bool is_quote(char c) { return c == '"' || c == '\''; }

// Reads a bracket. `open`: the brackets that close those still open.
bool follow_bracket(char c, std::string& open) {
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  if (const auto at = kOpening.find(c); at != std::string_view::npos) open += kClosing[at];
  if (kClosing.find(c) == std::string_view::npos) return true;
  if (open.empty() || open.back() != c) return false;
  open.pop_back();
  return true;
}

Tokens read_tokens(std::string_view code) {
  static const RE2 pattern(
      R"re((?s)(?:\s+|//[^\n]*|/\*.*?\*/)*(?:)re"
      R"re(((?:u8|[LuU])?(?:R"\(.*?\)"|"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')[\w$]*)|)re"
      R"re(((?:\.?\d(?:[eEpP][+-]|'?[\w$]|\.)*|[\w$]+)["']?|/\*|.))?)re",
      RE2::Latin1);
  Tokens tokens;
  std::string open;
  re2::StringPiece rest(code.data(), code.size());
  while (!rest.empty()) {
    re2::StringPiece literal, other;
    RE2::Consume(&rest, pattern, &literal, &other);
    const std::string_view text(literal.empty() ? other.data() : literal.data(),
                                literal.size() + other.size());
    if (text.empty()) break;
    tokens.all.push_back(text);
    // A string followed by a word (clang and g++ differ), or a word or number followed by a quote.
    tokens.is_clear &= is_quote(text.back()) == !literal.empty() || text.size() == 1;
    tokens.is_closed &= text != "/*" && text != "\"" && text != "'";
    if (text.size() == 1) tokens.is_closed &= follow_bracket(text.front(), open);
  }
  tokens.is_closed &= open.empty();
  return tokens;
}

// Returns true for a token of code with assembly that is no string, or whose directives, comments
// and escapes do not affect the code that follows.
bool is_plain_assembly(std::string_view token) {
  static const RE2 plain(R"re([^"']*|"(?:[^"./\\]|\\[nt]|\.rept(?:[^"./\\]|\\[nt])*\.endr)*")re",
                         RE2::Latin1);
  return RE2::FullMatch(re2::StringPiece(token.data(), token.size()), plain);
}

// Compilers disagree about whether other characters belong to a word.
bool is_basic(std::string_view token) { return token != "\\" && (token.front() & 0x80) == 0; }

// Returns true for a token that may precede a label's name.
bool may_precede_label(std::string_view token) {
  return std::string_view(";{}:)").find(token) != std::string_view::npos || token == "else" ||
         token == "do";
}

constexpr std::string_view kMark = "instr_expanded_";  // the word before each variant's texts

}  // namespace

bool is_self_contained(std::string_view code) {
  // Directives, # and braces by other names, continued lines, and line ends of some compilers.
  static const RE2 refused(
      R"((?s)#|%:|<%|%>|\?\?|_Pragma|__pragma|__COUNTER__|\\[ \t\r]*(?:\n|\z)|\r(?:[^\n]|\z)|)"
      R"([\x00-\x08\x0b\x0c\x0e-\x1f\x7f])",
      RE2::Latin1);
  if (RE2::PartialMatch(re2::StringPiece(code.data(), code.size()), refused)) return false;
  const Tokens tokens = read_tokens(code);
  const bool has_assembly = code.find("asm") != std::string_view::npos;
  return tokens.is_closed && tokens.is_clear && std::ranges::all_of(tokens.all, [&](auto token) {
           return is_basic(token) && (!has_assembly || is_plain_assembly(token));
         });
}

bool is_complete(std::string_view code) {
  const Tokens tokens = read_tokens(code);
  return tokens.is_closed || !tokens.is_clear;
}

bool jumps_out(std::string_view code) {
  const std::string padded = std::string(code) + "\n;;";
  const auto [tokens, is_closed, is_clear] = read_tokens(padded);
  if (!is_clear) return code.find("goto") != std::string_view::npos;
  std::set<std::string_view> targets, labels;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "goto") targets.insert(tokens[i + 1]);
    const bool is_first = i == 0 || may_precede_label(tokens[i - 1]);
    if (is_first && tokens[i + 1] == ":" && tokens[i + 2] != ":") labels.insert(tokens[i]);
  }
  return !std::ranges::includes(labels, targets);
}

std::string make_preprocessor_input(std::span<const Variant> variants, Purpose purpose) {
  std::string source;
  if (!variants.empty()) source = split_global(global_code(variants.front())).includes;
  for (const Variant& variant : variants) {
    // __FILE__ and __LINE__ are the same both times.
    std::string texts =
        fmt::format("\n#line 1 \"@\"\n{}{}\n", kMark, make_snippet_symbol(variant, purpose));
    for (const Text* text : list_texts(variant)) texts += text->code + "\n;\n";
    source += texts + texts;
  }
  return source;
}

std::set<std::string> find_reaching_symbols(std::string_view preprocessed) {
  std::set<std::string> reaching;
  std::map<std::string, std::string_view> first;  // texts by symbol
  auto at = preprocessed.find(kMark);
  while (at != std::string_view::npos) {
    const auto end = preprocessed.find(kMark, at + kMark.size());
    std::string_view text = preprocessed.substr(at, end - at);
    const auto length = std::min(text.find_first_of(" \n"), text.size());
    const std::string symbol(text.substr(kMark.size(), length - kMark.size()));
    text = trim(text.substr(length), " \n");
    const auto [it, is_new] = first.try_emplace(symbol, text);
    if (text != it->second || !is_self_contained(text)) reaching.insert(symbol);
    at = end;
  }
  return reaching;
}

std::optional<Text> join_global_setups(const Variant& variant) {
  const std::vector<Text>& texts = variant.global_setups;
  if (texts.empty()) return std::nullopt;
  Text joined = texts.front();
  SourceLocation end = joined.where;  // the place that the joined text has reached
  const auto add = [&](std::string_view code) {
    joined.code += code;
    end.line += static_cast<int>(std::count(code.begin(), code.end(), '\n'));
  };
  end.line += static_cast<int>(std::count(joined.code.begin(), joined.code.end(), '\n'));
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const SourceLocation& next = texts[i].where;
    if (!joined.code.ends_with('\n')) add("\n");
    if (next.file == end.file && next.line >= end.line) {
      // A unit may hold many variants only if their texts are free of directives.
      add(std::string(static_cast<std::size_t>(next.line - end.line), '\n'));
    } else {
      add(fmt::format("#line {} {}\n", next.line,
                      to_cpp_literal(make_line_marker("shared", next.file))));
      end = next;
    }
    add(texts[i].code);
  }
  return joined;
}

std::string global_code(const Variant& variant) {
  auto global = join_global_setups(variant);
  return global ? std::move(global->code) : "";
}

SplitGlobal split_global(std::string_view code) {
  SplitGlobal split;
  for (const auto& line : to_lines(code)) {
    std::size_t hash = line.find_first_not_of(" \t");
    std::size_t word = hash == std::string::npos || line[hash] != '#'
                           ? std::string::npos
                           : line.find_first_not_of(" \t", hash + 1);
    bool is_include = word != std::string::npos && line.compare(word, 7, "include") == 0;
    (is_include ? split.includes : split.rest) += line;
    split.includes += '\n';
    split.rest += '\n';
  }
  return split;
}

}  // namespace instr
