// Pieces of generated code: C++ with #line directives, literals, bodies of TorchScript.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/definitions/snippet.h"

namespace instr {

std::string to_cpp_literal(std::string_view text);

// Collects source text. Without places, the result is the text that a symbol is hashed from.
class Writer {
 public:
  Writer(std::string symbol, bool with_places)
      : symbol_(std::move(symbol)), with_places_(with_places) {}

  // Adds generated code, at a separate place, so that errors in it are recognised.
  void glue(std::string_view code);

  // Adds generated code that fails only if the user's text at `where` is wrong.
  void glue_at(const SourceLocation& where, std::string_view code) { put(where, code); }

  // Adds the user's code, followed by an empty line in case it ends with a backslash.
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

// Returns the body of forward(): the text with its common indentation replaced by four spaces.
std::string format_script_body(std::string_view text);

// Maps a place in the body (lines and columns from 1) to the definition; column 0 means the line's
// first character. Nothing if the body has no such line.
std::optional<SourceLocation> find_place_in_script(const Text& script, int line, int column);

// Maps a line of the text, from 1, to the definition. The column counts from 1 behind the common
// indentation of all lines; 0 means the first character that is not a blank.
SourceLocation find_place_in_text(const Text& text, int line, int column);

// Returns the place after the text's last character that is not a blank.
SourceLocation find_script_end(const Text& script);

// Returns the place of the text's first character that is not a blank.
SourceLocation find_first_place(const Text& text);

}  // namespace instr
