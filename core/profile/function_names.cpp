#include "core/profile/function_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "core/base/format.h"
#include "core/base/table.h"
#include "core/base/text.h"

namespace instr {

namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";
constexpr std::string_view kElided = "<\xE2\x80\xA6>";  // "<…>"
constexpr std::string_view kCloneMark = " [clone ";
// Names of generated code, up to the hash.
constexpr std::string_view kGenerated = "instr_";
constexpr std::string_view kUnitNamespace = "instr_unit_";
constexpr std::string_view kSnippet = "instr_snippet_";
constexpr std::size_t kHashSize = 32;
constexpr std::size_t kMinWidth = 20;
constexpr std::size_t kKeepAll = static_cast<std::size_t>(-1);
// Longer names are not parsed: that would take quadratic time.
constexpr std::size_t kMaxNameLength = 20000;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_of(std::string_view text, bool (*test)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Returns the size of the operator's symbol at the start of `text`, after the word "operator".
std::size_t symbol_size(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kSymbols{
      "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">"};
  for (std::string_view symbol : kSymbols) {
    if (text.starts_with(symbol)) return symbol.size();
  }
  return 0;
}

// Returns the size of text at `at` whose brackets do not count: "operator<", "->", "(anonymous
// namespace)".
std::size_t literal_size(std::string_view text, std::size_t at) {
  std::string_view rest = text.substr(at);
  if (rest.starts_with(kAnonymous)) return kAnonymous.size();
  if (rest.starts_with("->")) return 2;
  bool starts_word = at == 0 || !is_word(text[at - 1]);
  if (!starts_word || !rest.starts_with(kOperator)) return 0;
  rest.remove_prefix(kOperator.size());
  if (!rest.empty() && is_word(rest.front())) return 0;
  return kOperator.size() + symbol_size(rest);
}

// Returns the place behind the bracket that closes the one at `at`, or the end of the text.
std::size_t behind_bracket(std::string_view text, std::size_t at) {
  const char open = text[at];
  const char close = open == '(' ? ')' : '>';
  std::size_t depth = 0;
  while (at < text.size()) {
    if (std::size_t size = literal_size(text, at); size > 0) {
      at += size;
    } else if (open == '<' && text[at] == '(') {
      at = behind_bracket(text, at);
    } else {
      if (text[at] == open) ++depth;
      if (text[at] == close && --depth == 0) return at + 1;
      ++at;
    }
  }
  return text.size();
}

// Returns the size of the qualifiers behind a parameter list: " const", " const &", "&&".
std::size_t qualifiers_size(std::string_view text) {
  std::size_t size = 0;
  for (std::string_view word : {" const", " volatile", " &&", " &", "&&", "&", " noexcept"}) {
    if (text.substr(size).starts_with(word)) size += word.size();
  }
  std::string_view rest = text.substr(size);
  bool ends = rest.empty() || rest.starts_with("::") || rest.starts_with(' ');
  return ends ? size : 0;
}

// Removes parameter lists, and template arguments nested deeper than `depth`.
std::string reduced(std::string_view text, std::size_t depth) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (std::size_t size = literal_size(text, at); size > 0) {
      out += text.substr(at, size);
      at += size;
    } else if (text[at] == '(') {
      at = behind_bracket(text, at);
      at += qualifiers_size(text.substr(at));
    } else if (text[at] == '<') {
      std::size_t end = behind_bracket(text, at);
      if (depth == 0) {
        out += kElided;
      } else {
        bool closed = text[end - 1] == '>' && end - at >= 2;
        std::string_view inside = text.substr(at + 1, end - at - (closed ? 2 : 1));
        out += "<" + reduced(inside, depth == kKeepAll ? depth : depth - 1);
        out.resize(trim_end(out, " ").size());
        out += ">";
      }
      at = end;
    } else {
      if (text[at] == ',') out.resize(trim_end(out, " ").size());
      out += text[at++];
    }
  }
  return out;
}

// Returns the name in "return_type name": the text behind the last space outside all brackets.
std::string_view without_return_type(std::string_view text) {
  std::size_t begin = 0;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::string_view rest = text.substr(at);
    std::size_t size = literal_size(text, at);
    // "operator bool", "operator new": the name has a space.
    if (depth == 0 && size > 0 && rest.starts_with(kOperator)) break;
    if (size > 0) {
      at += size;
      continue;
    }
    if (text[at] == '<' || text[at] == '{') ++depth;
    if ((text[at] == '>' || text[at] == '}') && depth > 0) --depth;
    if (text[at] == ' ' && depth == 0) begin = at + 1;
    ++at;
  }
  return text.substr(begin);
}

bool is_cpp(std::string_view name) { return name.find_first_of("(<:") != std::string_view::npos; }

std::string plain_name(std::string_view name, std::size_t depth) {
  if (!is_cpp(name) || name.size() > kMaxNameLength) return std::string(name);
  std::string text = reduced(name, depth);
  text.resize(trim_end(text, " ").size());
  std::string_view without = without_return_type(text);
  return without.empty() ? std::string(name) : std::string(without);
}

// Removes marks that differ between builds: recursion depth, clones, symbol versions.
std::string_view canonical_function(std::string_view name) {
  name = call_level(name).function;
  if (std::size_t clone = name.find(kCloneMark); clone != std::string_view::npos && clone > 0) {
    name = name.substr(0, clone);
  }
  if (is_cpp(name)) return name;
  for (std::string_view mark : {"@", ".isra.", ".constprop.", ".part.", ".cold", ".lto_priv."}) {
    if (std::size_t at = name.find(mark); at != std::string_view::npos && at > 0) {
      name = name.substr(0, at);
    }
  }
  return name;
}

bool is_address(std::string_view name) {
  if (name.empty() || name == "???") return true;
  return name.starts_with("0x") && all_of(name.substr(2), is_hex);
}

// Recognizes a packager's mark between a library's name and ".so": "-1a2b3c4d", "-2.31".
bool is_build_mark(std::string_view text) {
  if (text.size() >= 8 && all_of(text, is_hex)) return true;
  bool is_version = all_of(text, [](char c) { return is_digit(c) || c == '.'; });
  return is_version && text.find('.') != std::string_view::npos;
}

// Returns the longest form of `name` that fits, else the shortest without its middle.
std::string fitting(const std::string& name, std::size_t width) {
  if (display_width(name) <= width) return name;
  std::string text;
  for (std::size_t depth : {kKeepAll, std::size_t{1}, std::size_t{0}}) {
    text = plain_name(name, depth);
    if (display_width(text) <= width) return text;
  }
  return shorten_middle(text, width);
}

// Returns the place where texts begin to differ, moved back to the begin of a word.
std::size_t first_difference(const std::vector<std::string>& texts) {
  std::size_t same = common_prefix(texts);
  while (same > 0 && (is_word(texts[0][same - 1]) || (texts[0][same - 1] & 0x80) != 0)) --same;
  return same;
}

// Adds the part that differs to names that are equal once shortened: "short form [own part]".
std::vector<std::string> distinguish(const std::vector<std::string>& names, std::size_t width) {
  // Parameters are left out if the names also differ elsewhere.
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(plain_name(name, kKeepAll));
  std::set<std::string> distinct(texts.begin(), texts.end());
  if (distinct.size() < texts.size()) texts = names;
  std::size_t begin = first_difference(texts);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string start = shorten_middle(plain_name(names[i], 0), width / 2);
    std::string own = texts[i].substr(std::min(begin, texts[i].size()));
    out.push_back(start + " [" + shorten_end(own, width - display_width(start) - 3) + "]");
  }
  return out;
}

// Numbers names that are still equal.
void number_equal(std::vector<std::string>& names, std::size_t width) {
  std::map<std::string, std::size_t> seen;
  for (std::string& name : names) {
    std::size_t count = ++seen[name];
    if (count == 1) continue;
    std::string number = " #" + std::to_string(count);
    name = shorten_end(name, width > number.size() ? width - number.size() : 0) + number;
  }
}

// Returns the size of the hash at the begin of `text`.
std::size_t hash_size(std::string_view text) {
  const std::size_t size = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
  return size == kHashSize ? size : 0;
}

}  // namespace

bool is_recursion(std::string_view function) {
  const std::size_t mark = function.rfind('\'');
  return mark != std::string_view::npos && mark > 0 && all_of(function.substr(mark + 1), is_digit);
}

CallLevel call_level(std::string_view function) {
  if (!is_recursion(function)) return {function};
  const std::size_t mark = function.rfind('\'');
  return {function.substr(0, mark), std::atoi(std::string(function.substr(mark + 1)).c_str())};
}

std::string at_level(const CallLevel& call) {
  std::string name(call.function);
  return call.level > 1 ? name + "'" + std::to_string(call.level) : name;
}

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kMaxNameLength) return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

bool is_snippet_symbol(std::string_view function) {
  const std::string_view bare = kSnippet.substr(0, kSnippet.size() - 1);
  return (function == bare || function.starts_with(kSnippet)) && !is_cpp(function);
}

bool runs_loop(std::string_view function) {
  return is_snippet_symbol(function) || function == kInterpreterLoop;
}

std::string without_hashes(std::string_view function) {
  std::string name;
  while (true) {
    const std::size_t mark = function.find(kGenerated);
    name += function.substr(0, mark);
    if (mark == std::string_view::npos) return name;
    function.remove_prefix(mark);
    const bool is_unit = function.starts_with(kUnitNamespace);
    const bool is_snippet = function.starts_with(kSnippet);
    const std::size_t word = is_unit ? kUnitNamespace.size() : is_snippet ? kSnippet.size() : 0;
    const std::size_t hash = word == 0 ? 0 : hash_size(function.substr(word));
    const std::string_view behind = function.substr(word + hash);
    if (hash != 0 && is_unit && behind.starts_with("::")) {
      function = behind.substr(2);
    } else if (hash != 0 && is_snippet) {
      name += kSnippet.substr(0, kSnippet.size() - 1);
      function = behind;
    } else {
      name += kGenerated;
      function.remove_prefix(kGenerated.size());
    }
  }
}

std::string object_name(std::string_view object) {
  if (object.empty() || object == "???") return "";
  if (object.starts_with("unit-")) return "unit";
  std::string name(object);
  for (std::size_t at = name.find(".so"); at != std::string::npos; at = name.find(".so", at + 1)) {
    if (at + 3 != name.size() && name[at + 3] != '.') continue;
    name.resize(at + 3);
    std::size_t dash = name.rfind('-', at);
    if (dash != std::string::npos && dash > 0 &&
        is_build_mark(std::string_view(name).substr(dash + 1, at - dash - 1))) {
      name.erase(dash, at - dash);
    }
    break;
  }
  return name;
}

CodeName code_name(std::string_view function, std::string_view object) {
  CodeName name{"", object_name(object), true};
  const std::string plain = without_hashes(function);
  std::string_view canonical = canonical_function(plain);
  if (canonical.starts_with(kSnippet.substr(0, kSnippet.size() - 1))) {
    name.function = kSnippetName;
    name.object = "unit";
  } else if (is_address(canonical)) {
    name.has_symbol = false;
    // Code without object was generated at run time, or is a linkage stub.
    bool known = !name.object.empty();
    name.function = known ? name.object + ": code without symbols" : "code of no library";
  } else {
    name.function = canonical;
  }
  return name;
}

std::string without_parameters(std::string_view name) { return plain_name(name, kKeepAll); }

std::vector<std::string> short_function_names(const std::vector<std::string>& names,
                                              std::size_t width) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(printable(demangle(name)));
  if (width == 0) return safe;
  width = std::max(width, kMinWidth);
  std::vector<std::string> out;
  std::map<std::string, std::vector<std::size_t>> by_text;
  for (const std::string& name : safe) {
    by_text[out.emplace_back(fitting(name, width))].push_back(out.size() - 1);
  }
  for (const auto& [text, places] : by_text) {
    if (places.size() == 1) continue;
    std::vector<std::string> equal;
    for (std::size_t i : places) equal.push_back(safe[i]);
    std::vector<std::string> apart = distinguish(equal, width);
    for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = apart[i];
  }
  number_equal(out, width);
  return out;
}

}  // namespace instr
