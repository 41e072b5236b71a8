// Names of a table in few columns, each still different from the others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace instr {

// The number of bytes that all of these texts, at least one, begin with.
std::size_t common_prefix(const std::vector<std::string>& texts);

// Each name in at most `width` columns: what fits stays whole, others lose their middle (as
// shorten_middle() does). Different names that would become equal lose what they have in common
// instead, and keep what tells them apart: "layers/…/n=64/…cpu".
std::vector<std::string> shorten_apart(const std::vector<std::string>& names, std::size_t width);

}  // namespace instr
