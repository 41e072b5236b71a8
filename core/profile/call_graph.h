// Inclusive costs and callers of functions, by a profile's calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/profile/function_names.h"
#include "core/profile/profile.h"

namespace instr {

struct Caller {
  CodeName code;
  double ir = 0;  // instructions per iteration of its calls, with all that they called
  double calls = 0;
};

struct InclusiveCost {
  std::optional<double> ir;  // instructions per iteration; absent if unknown
  bool is_recursive = false;
  std::vector<Caller> callers;  // highest cost first
};

// Returns the costs in a block of `iterations`, without the functions that called the
// snippet. The snippet, whose loop is included, has no callers.
//
// A recursive function costs what its outermost calls cost, and is not its own caller. Functions
// without symbols cannot be distinguished, so calls between them, and their inclusive cost, are
// unknown. The costs of their callers may overlap.
std::map<CodeName, InclusiveCost> inclusive_costs(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
