// The units that this process has loaded, with the code of their variants.
#pragma once

#include <string>

#include "worker/abi.h"

namespace instr {

// Returns an error's text, or an empty one.
std::string load_unit(const std::string& path);

// Finds a variant's code by its symbol: in C++ a function's address, in Python a PythonCode
// (python/side.h). Null if no unit has it.
const void* find_code(const std::string& symbol);

struct FoundSnippet {
  instr_snippet snippet = nullptr;
  instr_snippet empty = nullptr;  // the same loop around nothing
};

// Finds the functions to count; null if no unit has them.
FoundSnippet find_snippet(const std::string& symbol);

}  // namespace instr
