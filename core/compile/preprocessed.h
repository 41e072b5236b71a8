// What the preprocessor makes of the texts of a unit: a macro that some header defines may hold
// what no text may, an open bracket or a _Pragma. Pure: the source to run it on, and what is read
// from its output.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/compile/generate.h"
#include "core/definitions/variant.h"

namespace instr {

// Each text of the variants twice, after the headers that the unit includes: for the compiler with
// -E. They have one global setup, or none, and are self-contained as they are written.
std::string texts_to_preprocess(std::span<const Variant> variants, Purpose purpose);

// Symbols (snippet_symbol) of variants that cannot share a unit: what became of a text is not
// self-contained, or is something else the second time.
std::set<std::string> reaching_symbols(std::string_view preprocessed);

}  // namespace instr
