// The body of a variant's function in C++.
#pragma once

#include "core/compile/source_writer.h"
#include "core/definitions/variant.h"

namespace instr {

// Writes the setup and the loop around the statement.
void write_body(Writer& out, const Variant& variant);

// Writes one run of the statement after its setup, and hands over the values to compare.
void write_verification(Writer& out, const Variant& variant);

// Writes the setups, each ended by a semicolon.
void write_setups(Writer& out, const Variant& variant);

void write_module(Writer& out, const Text& module);

}  // namespace instr
