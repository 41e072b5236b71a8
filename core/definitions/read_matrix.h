// Reads a benchmark's `matrix`: its parameters and their values as text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/definitions/toml_reader.h"

namespace instr {

// In the order written; values as C++ spells them (a float always has a point or an exponent).
// `variants_of_point`: how many variants each combination makes. Errors go to the reader: bad
// names, empty lists, values that repeat or that cannot be part of a key, and more variants than
// kMaxVariantsPerBenchmark, which is checked before any value is read.
std::vector<std::pair<std::string, std::vector<std::string>>> read_matrix(
    const TableReader& benchmark, const SourceText& source, std::uint64_t variants_of_point);

}  // namespace instr
