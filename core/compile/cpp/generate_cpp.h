// Variants to the C++ source of a unit: one function for each, with #line directives back to the
// TOML, so that a compiler's messages are about the user's own text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/definitions/variant.h"

namespace instr {

// "instr_snippet_<hash>", "instr_verify_<hash>": the hash is of everything that determines the
// variant's code, and of nothing else: neither the key nor the place in the TOML. Variants that
// differ only in those, or in their threads, share one function. A variant to be verified shares it
// only if it is compared with the same eager code.
std::string make_snippet_symbol(const Variant& variant, Purpose purpose = Purpose::kMeasure);

// The source of a unit that holds these variants, and, if they are to be measured, the empty loop.
// It does not include anything itself: it is compiled with worker/snippet_support.h in front
// (-include). The file names in its #line directives are marked (see make_line_marker) so that each
// diagnostic names its variant.
std::string generate_unit(std::span<const Variant> variants, Purpose purpose = Purpose::kMeasure);

// The C++ that its author wrote for its function: setups, statement, module. Not the global
// setup.
std::vector<const Text*> list_texts(const Variant& variant);

// The file name used in #line: "@<symbol>:<file>". `symbol` is "shared" for a global setup,
// which several variants have in common. Empty `file`: code that the user did not write.
std::string make_line_marker(std::string_view symbol, std::string_view file);

// The file of such a name, before which debug information may have a folder; "" of code that the
// user did not write. Nothing if it is not such a name.
std::optional<std::string> parse_line_marker(const std::string& name);

}  // namespace instr
