// Which variants are compiled together: pure, so that it can be tested without a compiler.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/generate_cpp.h"
#include "core/definitions/variant.h"

namespace instr {

// Variants with the same code share one function, whatever their keys.
struct UnitFunction {
  std::string symbol;
  std::vector<Variant> variants;  // at least one
  std::string eager;              // the symbol of the eager variant that it is compared with
};

// Snippets that may share a unit: they have the same build options and the same global setup.
struct FunctionGroup {
  std::vector<UnitFunction> functions;
  // Has a global setup, which may register operators when its unit is loaded. A process can do that
  // only once: what it compares is in one unit.
  bool has_global_setup = false;
};

// The groups are in the order of the variants. Texts that may change the meaning of what follows
// are alone in their group, or, to be verified, with the eager variant's.
std::vector<FunctionGroup> group_functions(const std::vector<Variant>& variants,
                                           Purpose purpose = Purpose::kMeasure);

// Cuts groups into units of about `kMaxUnitSize` functions, about `jobs` units in total; the most
// expensive first. Groups are not mixed, and what is compared with each other is not separated.
inline constexpr std::size_t kMaxUnitSize = 60;
std::vector<std::vector<UnitFunction>> cut_units(const std::vector<FunctionGroup>& groups,
                                                 int jobs);

// Cuts groups into units of one function.
std::vector<std::vector<UnitFunction>> cut_all(const std::vector<FunctionGroup>& groups);

}  // namespace instr
