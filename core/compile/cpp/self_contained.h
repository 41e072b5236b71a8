// The effects that a C++ text can have on others in the same unit, and on the loop around it, as
// far as its tokens show. Pure: no compiler is run.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/variant.h"

namespace instr {

// Whether nothing in the code reaches beyond it: its brackets, strings and comments are complete in
// themselves; it has no directive of the preprocessor, however spelled, no _Pragma, no __COUNTER__,
// and no assembler directive but .rept. If two compilers may read a text differently, or one by
// its flags (trigraphs, digraphs, continued lines), it is not self-contained either: such a text
// merely gets a unit of its own. Also for preprocessed text.
bool is_self_contained(std::string_view code);

// Whether the code's brackets, strings and comments are balanced.
bool is_complete(std::string_view code);

// Whether a goto in the code goes to a label that is not in it.
bool jumps_out(std::string_view code);

// The texts of a unit after preprocessing: a macro that some header defines may contain what no
// text may, an open bracket or a _Pragma. This is the source to preprocess, for the
// compiler with -E: each text of the variants twice, after the headers that the unit includes. They
// have one global setup, or none, and are self-contained as they are written.
std::string make_preprocessor_input(std::span<const Variant> variants, Purpose purpose);

// Symbols (make_snippet_symbol) of variants that cannot share a unit: the preprocessed text is not
// self-contained, or differs the second time.
std::set<std::string> find_reaching_symbols(std::string_view preprocessed);

}  // namespace instr
