// Pieces of generated C++: text collected with #line directives, literals, bodies of TorchScript.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/snippet.h"

namespace instr {

// As a C++ string literal.
std::string to_cpp_literal(std::string_view text);

// Collects source text. Without places it gives the text that a symbol is hashed from.
class Writer {
 public:
  Writer(std::string symbol, bool with_places)
      : symbol_(std::move(symbol)), with_places_(with_places) {}

  // Generated code, at a place of its own, so that errors in it are recognised as such.
  void glue(std::string_view code);

  // Generated code that fails only if the user's text at `where` is wrong.
  void glue_at(const SourceLocation& where, std::string_view code) { put(where, code); }

  // The user's own code. An empty line follows, in case it ends with a backslash.
  void user(const Text& text);

  std::string take() { return std::move(text_); }

 private:
  void put(const SourceLocation& where, std::string_view code);

  std::string symbol_;
  bool with_places_;
  std::string text_;
};

std::string join_names(const std::vector<std::string>& names);  // "x, w"
std::vector<std::string> to_lines(std::string_view text);

// The body of forward(): the text's own indentation replaced by four spaces. The first line of a
// text that does not begin on a line of its own has no indentation to remove.
std::string format_script_body(std::string_view text);

// The place in the definition of that place in the body, lines and columns from 1; of the line's
// first character if the column is 0. Nothing if the body has no such line.
std::optional<SourceLocation> find_place_in_script(const Text& script, int line, int column);

// The place of that line of the text, from 1; its column counts from 1 behind the indentation that
// all lines have in common, or is 0: the place of its first character that is not a blank.
SourceLocation find_place_in_text(const Text& text, int line, int column);

// The place after the text's last character that is not a blank.
SourceLocation find_script_end(const Text& script);

// The place of the text's first character that is not a blank.
SourceLocation find_first_place(const Text& text);

}  // namespace instr
