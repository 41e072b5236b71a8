#include "core/definitions/snippet.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string_view>

namespace instr {

namespace {

bool begins_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool in_identifier(char c) { return begins_identifier(c) || (c >= '0' && c <= '9'); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { skip_spaces(); }

  bool accept(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    skip_spaces();
    return true;
  }

  // Returns "" if there is no identifier here.
  std::string identifier() {
    std::size_t end = at_;
    if (end < text_.size() && begins_identifier(text_[end])) {
      while (end < text_.size() && in_identifier(text_[end])) ++end;
    }
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    skip_spaces();
    return name;
  }

  bool at_end() const { return at_ == text_.size(); }
  std::size_t position() const { return at_; }

 private:
  void skip_spaces() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Returns the place of byte `offset` of the text, which is ASCII up to there.
SourceLocation find_place(const Text& text, std::size_t offset) {
  SourceLocation where = text.where;
  for (const char c : std::string_view(text.code).substr(0, offset)) {
    if (c == '\n') {
      ++where.line;
      where.column = 1;
    } else {
      ++where.column;
    }
  }
  return where;
}

tl::unexpected<Error> fail_at(const Text& text, std::size_t offset, const std::string& what) {
  return tl::unexpected<Error>(Error{find_place(text, offset), "bad signature: " + what,
                                     "write for example `f(x, w) -> y`"});
}

}  // namespace

Expected<std::string> find_optimizer_name(const std::string& code) {
  static const RE2 call(R"(\s*(?:\w+\.)*([A-Za-z_]\w*)\((?s:.*)\bparams\b(?s:.*)\)\s*)");
  std::string name;
  if (RE2::FullMatch(code, call, &name)) return name;
  return fail("`" + code + "` does not make an optimizer of `params`",
              "write a call in Python, such as `torch.optim.SGD(params, lr=0.01)`");
}

bool is_identifier(std::string_view text) {
  return !text.empty() && begins_identifier(text.front()) &&
         std::all_of(text.begin(), text.end(), in_identifier);
}

Expected<Signature> parse_signature(const Text& text) {
  Scanner scan(text.code);
  const auto expected = [&](const char* what) {
    return fail_at(text, scan.position(), fmt::format("{} expected here", what));
  };
  Signature signature{{}, "", text.where};
  if (scan.identifier().empty()) return expected("a function name");
  if (!scan.accept("(")) return expected("`(`");
  while (!scan.accept(")")) {
    if (!signature.arguments.empty() && !scan.accept(",")) return expected("`,` or `)`");
    const std::size_t begin = scan.position();
    std::string name = scan.identifier();
    if (name.empty()) return expected("an argument's name");
    if (name == "self") return fail_at(text, begin, "`self` is the module's own name");
    if (std::ranges::find(signature.arguments, name) != signature.arguments.end()) {
      return fail_at(text, begin, fmt::format("`{}` is named twice", name));
    }
    signature.arguments.push_back(std::move(name));
  }
  if (!scan.accept("->")) return expected("`->`");
  signature.output = scan.identifier();
  if (signature.output.empty()) return expected("the output's name");
  if (!scan.at_end()) return expected("the end");
  return signature;
}

}  // namespace instr
