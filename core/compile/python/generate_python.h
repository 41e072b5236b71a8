// Generates the texts of variants in Python, which the interpreter that will run them compiles
// (worker/python/compile_snippets.py).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"

namespace instr {

// Texts without a place are generated.
struct PythonSnippet {
  Purpose purpose = Purpose::kMeasure;
  std::vector<Text> module;     // module-level code
  std::vector<Text> setup;      // code in the function that the snippet becomes
  std::vector<Text> statement;  // code in that function's loop
};

PythonSnippet make_python_snippet(const Variant& variant, Purpose purpose = Purpose::kMeasure);

// Returns the snippet whose statement passes the variant's module or function, and its arguments,
// to `instr_export_` (worker/python/export_package.py). `variant`: in Python, with a signature.
PythonSnippet make_export_snippet(const Variant& variant);

// Returns "instr_snippet_<hash>" or "instr_verify_<hash>": the hash of everything that determines
// the code.
std::string make_python_symbol(const PythonSnippet& snippet);

// Maps a place in the compiled code to the definition; nothing for generated code. Line L of text
// T, both from 1, has the number T * kPythonLines + L; the column is as reported by the
// interpreter, or 0.
inline constexpr int kPythonLines = 100'000;
inline constexpr const char* kPythonFile = "<snippet>";  // the file name of the code in Python
std::optional<SourceLocation> find_place_in_python(const PythonSnippet& snippet, int line,
                                                   int column = 0);

}  // namespace instr
