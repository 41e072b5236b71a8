// What functions cost with all that they call, and who calls them, by a profile's calls.
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
  double ir = 0;  // what its calls cost, with all that they called; instructions per iteration
  double calls = 0;
};

struct InclusiveCost {
  std::optional<double> ir;  // instructions per iteration; absent where it cannot be known
  bool is_recursive = false;
  std::vector<Caller> callers;  // highest cost first
};

// Of a block of so many iterations, without the functions that the snippet was called by. Of the
// snippet itself, whose loop is included, no callers.
//
// A recursive function costs what its outermost calls cost, and is not its own caller. Functions
// without symbols cannot be distinguished, so whether one calls another is not known, and neither
// is their inclusive cost: of each of their callers it is what its own calls cost, but one of these
// may be made in another's, so that they do not add up.
std::map<CodeName, InclusiveCost> inclusive_costs(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
