// Reads a benchmark's signature: "f(x, w) -> y".
#pragma once

#include "core/definitions/snippet.h"

namespace instr {

// NAME(ARGUMENT, ...) -> OUTPUT; spaces are free, the argument list may be empty. The error is at
// the character that does not fit.
Expected<Signature> parse_signature(const Text& text);

// A name in C++ and Python alike: letters, digits and _, not beginning with a digit.
bool is_identifier(std::string_view text);

}  // namespace instr
