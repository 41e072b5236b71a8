// The effects that a C++ text can have on other texts in the same unit, and on the loop around it,
// as far as its tokens show. Pure: runs no compiler.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/variant.h"

namespace instr {

// Returns true if the code has no effect on other code: its brackets, strings and comments are
// complete; it has no preprocessor directive, however spelled, no _Pragma, no __COUNTER__, and no
// assembler directive except .rept. Returns false for text that compilers may read differently, by
// version or flags (trigraphs, digraphs, continued lines): it only gets a separate unit. Also for
// preprocessed text.
bool is_self_contained(std::string_view code);

// Returns true if the code's brackets, strings and comments are balanced.
bool is_complete(std::string_view code);

// Returns true if a goto in the code goes to a label outside it.
bool jumps_out(std::string_view code);

// Macros of a header may contain code that a text must not contain, such as an open bracket or a
// _Pragma, so texts are also checked after preprocessing. Makes the source for the compiler's -E:
// each text of the variants twice, after the headers that the unit includes. The variants have the
// same global setup, or none, and their texts are self-contained as written.
std::string make_preprocessor_input(std::span<const Variant> variants, Purpose purpose);

// Returns the symbols (make_snippet_symbol) of variants that cannot share a unit: their
// preprocessed text is not self-contained, or differs the second time.
std::set<std::string> find_reaching_symbols(std::string_view preprocessed);

}  // namespace instr
