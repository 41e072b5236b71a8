// Variants in Python to the texts that their code is compiled of, by the interpreter that will run
// them (worker/python/compile_snippets.py).
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
  std::vector<Text> module;     // at module level
  std::vector<Text> setup;      // in the function that the snippet becomes
  std::vector<Text> statement;  // in its loop
};

PythonSnippet make_python_snippet(const Variant& variant, Purpose purpose = Purpose::kMeasure);

// "instr_snippet_<hash>", "instr_verify_<hash>": of all that determines its code.
std::string make_python_symbol(const PythonSnippet& snippet);

// The place of a line of the compiled code, which counts from 1 in each text, plus kPythonLines for
// it and each text before it; the column, if it is not 0, as the interpreter reports it. Nothing
// for generated code.
inline constexpr int kPythonLines = 100'000;
inline constexpr const char* kPythonFile = "<snippet>";  // its name, as Python has it
std::optional<SourceLocation> find_place_in_python(const PythonSnippet& snippet, int line,
                                                   int column = 0);

}  // namespace instr
