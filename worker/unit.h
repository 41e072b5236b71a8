// The unit that this process has loaded: the code of its variants.
#pragma once

#include <string>

#include "worker/abi.h"

namespace instr {

// Returns an empty text, or what is wrong with the unit.
std::string load_unit(const std::string& path);

struct FoundSnippet {
  instr_snippet snippet = nullptr;
  instr_snippet empty = nullptr;  // the same loop around nothing
};

// A variant's, of the unit that is loaded; null if it does not have it.
FoundSnippet find_snippet(const std::string& symbol);

}  // namespace instr
