// Generates the C++ source of a unit from variants: a function for each, with #line directives back
// to the TOML, so that a compiler's messages are about the user's text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"

namespace instr {

// Returns "instr_snippet_<hash>" or "instr_verify_<hash>". The hash covers everything that
// determines the variant's code, and nothing else: neither the key nor the place in the TOML.
// Variants that differ only in these, or in their threads, share one function. A variant to be
// verified shares it only if it is compared with the same eager code.
std::string make_snippet_symbol(const Variant& variant, Purpose purpose = Purpose::kMeasure);

// Generates a unit that contains these variants and, if they are to be measured, the empty loop. It
// is compiled with worker/snippet_support.h in front (-include). The file names in its #line
// directives are marked (see make_line_marker) so that each diagnostic names its variant.
std::string generate_unit(std::span<const Variant> variants, Purpose purpose = Purpose::kMeasure);

// Returns the user's C++ in the variant's function: setups, statement, module; no global setups.
std::vector<const Text*> list_texts(const Variant& variant);

// Makes the file name for #line: "@<symbol>:<file>". `symbol`: "shared" for a global setup, which
// several variants have in common. `file`: empty for generated code.
std::string make_line_marker(std::string_view symbol, std::string_view file);

// Returns the file in such a name, which debug information may begin with a folder; "" for
// generated code. Nothing if it is not such a name.
std::optional<std::string> parse_line_marker(const std::string& name);

}  // namespace instr
