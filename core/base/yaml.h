// Reads simple YAML: block maps and lists, scalars, `[]` and `{}`, anchors and aliases.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace instr {

// Returns the document as JSON. Every scalar is a string, without its quotes; null: an empty value.
// Text that is none of the above becomes a scalar, and lines that fit nowhere are skipped.
nlohmann::ordered_json parse_simple_yaml(const std::string& text);

}  // namespace instr
