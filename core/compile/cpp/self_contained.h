// Decides which C++ texts may share a unit: those that cannot change the meaning of other texts, or
// of the loop around them. Pure: runs no compiler.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/variant.h"

namespace instr {

// Returns true if the code may share a unit. Its brackets, strings and comments are closed. It
// affects neither the preprocessor nor the assembler: it has no '#', no _Pragma, no __COUNTER__,
// and no assembler directive but .rept. And all compilers read it alike. Other code is compiled
// alone, which is always right, if slower. Also for preprocessed code.
bool is_self_contained(std::string_view code);

// Returns false if a bracket, string or comment of the code is not closed, or closed twice.
bool is_complete(std::string_view code);

// Returns true if a goto in the code goes to a label outside it.
bool jumps_out(std::string_view code);

// A header's macro may expand to code that is not self-contained, so texts are checked again after
// preprocessing. Makes the source for the compiler's -E -P: the headers that the unit includes,
// then the texts of each variant twice. The variants have the same global setup, or none, and their
// texts are self-contained as written.
std::string make_preprocessor_input(std::span<const Variant> variants, Purpose purpose);

// Returns the symbols (make_snippet_symbol) of variants that cannot share a unit: their
// preprocessed texts are not self-contained, or differ the second time.
std::set<std::string> find_reaching_symbols(std::string_view preprocessed);

// The global setups of a variant in C++ as one text.

// Joins the variant's global setups so that each line keeps its place: by blank lines if a text
// comes further down in the same file, else by a #line directive. Nothing if it has none.
std::optional<Text> join_global_setups(const Variant& variant);

// Returns the code of join_global_setups(); "" if the variant has no global setup.
std::string global_code(const Variant& variant);

// The #include lines of a global setup, and the rest with those lines left blank.
struct SplitGlobal {
  std::string includes;  // has as many lines as the whole; the others are blank
  std::string rest;
};
SplitGlobal split_global(std::string_view code);

}  // namespace instr
