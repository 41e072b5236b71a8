// The texts of a unit after preprocessing: a macro that some header defines may contain what no
// text may, an open bracket or a _Pragma. Pure: the source to preprocess, and the analysis of the
// output.
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

// Symbols (snippet_symbol) of variants that cannot share a unit: the preprocessed text is not
// self-contained, or differs the second time.
std::set<std::string> reaching_symbols(std::string_view preprocessed);

}  // namespace instr
