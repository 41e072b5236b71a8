// Which variants of all that the definitions make are wanted now.
#pragma once

#include <string>
#include <vector>

#include "core/variant.h"

namespace instr {

// An empty list asks for nothing in particular. A variant is kept where it meets every list.
struct Selection {
  std::vector<std::string> filters = {};   // RE2, found anywhere in the key; one is enough
  std::vector<std::string> excludes = {};  // RE2; none may be found in the key
  std::vector<Runtime> runtimes = {};
  std::vector<Autograd> autograds = {};
  std::vector<int> threads = {};
  std::vector<std::string> devices = {};
  std::vector<std::string> tags = {};  // one of the variant's tags is among them
};

// The wanted variants, in their order. Errors (without a place): a pattern that is none, nothing
// wanted at all; the advice names what is near.
Expected<std::vector<Variant>> select(std::vector<Variant> variants, const Selection& selection);

}  // namespace instr
