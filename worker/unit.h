// The units that this process has loaded: the code of their variants.
#pragma once

#include <string>

#include "worker/abi.h"

namespace instr {

// Returns an empty text, or what is wrong with the unit.
std::string load_unit(const std::string& path);

// A variant's function as the language has it: of C++ its address, of Python its code
// (python/code.h). Null if no unit has it.
const void* find_code(const std::string& symbol);

struct FoundSnippet {
  instr_snippet snippet = nullptr;
  instr_snippet empty = nullptr;  // the same loop around nothing
};

// A variant's, to be counted; null if no unit has it.
FoundSnippet find_snippet(const std::string& symbol);

}  // namespace instr
