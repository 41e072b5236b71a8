// The global setups of a variant in C++ as one text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/definitions/variant.h"

namespace instr {

// Joins the variant's global setups so that each line keeps its place: by blank lines if a text
// comes further down in the same file, else by a #line directive. Nothing if it has none.
std::optional<Text> join_global_setups(const Variant& variant);

// Returns the code of join_global_setups(); "" if the variant has no global setup.
std::string global_code(const Variant& variant);

// The #include lines of a global setup, and the rest with those lines left blank.
struct SplitGlobal {
  std::string includes;  // has as many lines as the whole; the others are blank
  std::string rest;
};
SplitGlobal split_global(std::string_view code);

}  // namespace instr
