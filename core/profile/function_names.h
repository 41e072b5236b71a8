// Names of functions and libraries in profiles: the same code in two builds, and long C++ names in
// a few columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace instr {

inline constexpr const char* kSnippetName = "the snippet";

// The name of code in every build: the join key of two profiles.
struct CodeName {
  std::string function;  // the name, without marks of recursion, clones and symbol versions
  std::string object;    // the library without version and build: "libtorch_cpu.so"; "" if unknown
  bool has_symbol = true;

  bool is_snippet() const { return function == kSnippetName; }

  bool operator==(const CodeName&) const = default;
  auto operator<=>(const CodeName&) const = default;
};

// `function`, `object`: as in FunctionCost. Addresses differ between builds, so all code of a
// library without symbols has one name; each snippet is "the snippet", whatever its hash.
CodeName code_name(std::string_view function, std::string_view object);

// Recognizes Callgrind's name of a function while another call of it is active: "f'2".
bool is_recursion(std::string_view function);

// The two parts of such a name; level 1 is the outermost call, whose name has no mark.
struct CallLevel {
  std::string_view function;
  int level = 1;
};
CallLevel call_level(std::string_view function);
std::string at_level(const CallLevel& call);

// Returns the readable form of a mangled C++ name that is not too long, and other names unchanged.
std::string demangle(const std::string& name);

// Recognizes the snippet's function, not a lambda in it.
bool is_snippet_symbol(std::string_view function);

// CPython's function that runs all Python code, such as the measured loop of a snippet.
inline constexpr const char* kInterpreterLoop = "_PyEval_EvalFrameDefault";

// Recognizes the function that runs the measured loop: the snippet's or, in Python, the
// interpreter's.
bool runs_loop(std::string_view function);

// Removes the hashes in names of generated code: a function from global_setup is in a namespace of
// its unit, and must have the same name in every unit.
std::string without_hashes(std::string_view function);

// Returns "libtorch_cpu.so" for "libtorch_cpu.so.1.13.0" and "libtorch_cpu-1a2b3c4d.so.2", and
// "unit" for a compiled unit.
std::string object_name(std::string_view object);

// Removes parameter lists, return type and qualifiers from a demangled C++ name, so that it does
// not depend on the types of the arguments.
std::string without_parameters(std::string_view name);

// Shortens each name to `width` columns, at least 20 (0: no limit): removes parameter lists, then
// nested and then all template arguments, then the middle. Names that would become equal keep the
// part that distinguishes them. The result is printable.
std::vector<std::string> short_function_names(const std::vector<std::string>& names,
                                              std::size_t width);

}  // namespace instr
