// Sorts a compiler's messages about a unit by variant, and maps them to places in the TOML.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/cpp/missing_symbol.h"
#include "core/definitions/variant.h"

namespace instr {

// An error with its notes.
struct Diagnostic {
  std::string symbol;  // the snippet's symbol; "shared" for a global setup; "" if not known
  std::string file;    // the compiler's name for it, without the marker; empty: generated code
  int line = 0;
  int column = 0;
  std::string message;
  bool is_in_user_text = false;    // the place is in the definition, not in a header
  bool is_linker = false;          // a message of the linker
  bool names_another = false;      // the messages also name another snippet
  std::vector<std::string> notes;  // each "file:line:column: text"
};

// Parses errors (not warnings) of g++ or clang, and undefined references of the linker, in their
// order.
std::vector<Diagnostic> parse_diagnostics(std::string_view output);

// Formats the message about a variant that does not compile: the first few errors at their places
// in the TOML, with the line of code and a caret, and helpful notes.
std::string describe(const Variant& variant, const std::vector<Diagnostic>& diagnostics,
                     const LinkedCode& linked = {});

// Formats the linker's errors: "does not link: undefined reference to …". Nothing if `output`
// contains other errors.
std::optional<std::string> describe_linker_errors(std::string_view output,
                                                  const LinkedCode& linked = {});

}  // namespace instr
