// A compiler's words about a unit, sorted by the variant that they are about and put at TOML
// places.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/definitions/variant.h"

namespace instr {

// One error with the lines that belong to it.
struct Diagnostic {
  std::string symbol;  // of the snippet it is about; "shared" for a global setup; "" if not known
  std::string file;    // as the compiler named it, marker taken off; empty: generated code
  int line = 0;
  int column = 0;
  std::string message;
  bool is_in_user_text = false;    // the place is in the definition, not in a header
  bool names_another = false;      // what was said also points into another snippet
  std::vector<std::string> notes;  // what else was said about it, each "file:line:column: text"
};

// Errors (not warnings) of g++ or clang, and undefined references of the linker, in the order said.
std::vector<Diagnostic> parse_diagnostics(std::string_view output);

// What a person reads about a variant that does not compile: the first few errors at their TOML
// places, with the line of code and a caret, and the notes that help.
std::string describe(const Variant& variant, const std::vector<Diagnostic>& diagnostics);

}  // namespace instr
