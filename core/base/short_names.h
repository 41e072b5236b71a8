// Shortens the names of a table so that they still differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace instr {

// The length in bytes of the common prefix of one or more texts.
std::size_t common_prefix(const std::vector<std::string>& texts);

// Shortens each name to at most `width` columns, in the middle (as shorten_middle() does).
// Different names that would become equal lose their common parts instead, and keep the parts in
// which they differ: "layers/…/n=64/…cpu".
std::vector<std::string> shorten_apart(const std::vector<std::string>& names, std::size_t width);

}  // namespace instr
