// Reads a benchmark's signature: "f(x, w) -> y".
#pragma once

#include "core/definitions/snippet.h"

namespace instr {

// Parses NAME(ARGUMENT, ...) -> OUTPUT; spaces are optional, the argument list may be empty. The
// error is at the first wrong character.
Expected<Signature> parse_signature(const Text& text);

// Returns true for a valid name in both C++ and Python: letters, digits and _, no digit first.
bool is_identifier(std::string_view text);

}  // namespace instr
