// Names of functions and libraries as profiles give them: what is the same code in two builds, and
// how to show a long C++ name in a few columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

inline constexpr const char* kSnippetName = "the snippet";

// What one piece of code is called in every build: the join key of two profiles.
struct CodeName {
  std::string function;  // without marks of recursion, clones and symbol versions
  std::string object;    // without version and build marks: "libtorch_cpu.so"; "" where unknown
  bool has_symbol = true;

  bool is_snippet() const { return function == kSnippetName; }

  bool operator==(const CodeName&) const = default;
  auto operator<=>(const CodeName&) const = default;
};

// `function`, `object`: as in FunctionCost. Addresses differ between builds, so all code without
// symbols of one library has one name; each snippet is "the snippet", whatever its hash.
CodeName code_name(std::string_view function, std::string_view object);

// Callgrind's name of a function while another call of it is active: "f'2".
bool is_recursion(std::string_view function);

// Such a name by its two parts; 1 is the outermost call, whose name has no mark.
struct CallLevel {
  std::string_view function;
  int level = 1;
};
CallLevel call_level(std::string_view function);
std::string at_level(const CallLevel& call);

// The snippet's own function, not a lambda in it.
bool is_snippet_symbol(std::string_view function);

// Of CPython, in which its functions run; so does the measured loop of a snippet in Python.
inline constexpr const char* kInterpreterLoop = "_PyEval_EvalFrameDefault";

// Which runs the measured loop: the snippet's own function or, in Python, the interpreter's.
bool runs_loop(std::string_view function);

// The name without the hashes in names of generated code: a function from global_setup lies in a
// namespace of its unit, and must have the same name in every unit.
std::string without_hashes(std::string_view function);

// "libtorch_cpu.so.1.13.0" and "libtorch_cpu-1a2b3c4d.so.2" -> "libtorch_cpu.so"; a compiled unit,
// whose name holds its hash, -> "unit".
std::string object_name(std::string_view object);

// A demangled C++ name without parameter lists, return type and qualifiers: what stays the same
// when only the types of the arguments change. Names that are no C++ stay as they are.
std::string without_parameters(std::string_view name);

// Each name in at most `width` columns (0: no limit, the names as they are): parameter lists go
// first, then nested and then all template arguments, then the middle. Names that would become
// equal keep the part that tells them apart. Safe to show; `width` of less than 20 counts as 20.
std::vector<std::string> short_function_names(const std::vector<std::string>& names,
                                              std::size_t width);

}  // namespace instr
