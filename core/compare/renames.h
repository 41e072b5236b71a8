// Benchmarks that seem to have another name now: of those that went and those that came, pairs that
// run the same code. They are offered, never taken for one.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/results/functions_file.h"

namespace instr {

// Two counts that differ by more are of two benchmarks, whatever their functions.
inline constexpr double kMostRenamedChange = 0.01;
// The same of the sum of all functions' changes, up or down.
inline constexpr double kMostRenamedMoves = 0.05;

struct NamedCount {
  std::string key;
  double ir = 0;
};

struct Rename {
  std::string from;
  std::string to;

  auto operator<=>(const Rename&) const = default;
};

// Pairs of the same language, runtime, autograd, threads and device with counts and functions that
// are equal or, if none is, nearly so, where each is the only one like the other; in the order of
// `gone`. Without functions there are none. An error if functions cannot be read.
Expected<std::vector<Rename>> find_renames(const std::vector<NamedCount>& gone,
                                           const std::vector<NamedCount>& come,
                                           const FunctionsOf& functions_before,
                                           const FunctionsOf& functions_after);

}  // namespace instr
