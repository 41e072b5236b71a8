// Reads the part of a [[benchmark]] table that says which program is counted.
#pragma once

#include <memory>

#include "core/definitions/snippet.h"
#include "core/definitions/toml_reader.h"

namespace instr {

// Returns the benchmark's `command` or `import`; null if it has neither. Adds errors for keys that
// do not go together.
std::shared_ptr<const Program> read_program(const TableReader& read, const SourceText& source);

}  // namespace instr
