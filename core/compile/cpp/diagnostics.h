// Explains missing functions that the linker or the loader reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/libtorch.h"
#include "core/definitions/snippet.h"
#include "core/definitions/variant.h"

namespace instr {

// The code that a snippet is linked with, besides the system's.
struct LinkedCode {
  const BuildOptions* build = nullptr;
  std::optional<std::filesystem::path> sources = {};  // the library made of [build].sources
  int libtorch_layout = -1;  // LibTorch's _GLIBCXX_USE_CXX11_ABI; -1: not known
};

// Returns LinkedCode::libtorch_layout.
int read_string_layout(const LibTorch& libtorch);

// Explains that this code has `function`, as the linker names it, with the other layout of
// std::string: "libmy.so was built with _GLIBCXX_USE_CXX11_ABI=0, …". Empty if none has it.
std::string find_string_layout_reason(const std::string& function, const LinkedCode& code);

// Rewrites the loader's message with readable names: "libt.so: undefined symbol:
// c10::f(std::string)"; adds a possible reason if LibTorch lacks the function.
std::string explain_loader_message(std::string_view message);

// Sorts a compiler's messages about a unit by variant, and maps them to places in the TOML.

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
