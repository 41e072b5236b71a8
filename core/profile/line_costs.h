// What each line of source costs, where the code has line numbers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/profile/profile.h"

namespace instr {

// What the rest of a count is in.
inline constexpr const char* kNoLineNumbers = "code without line numbers";

struct LineCost {
  std::string file;
  int line = 0;
  std::int64_t self = 0;  // instructions of the whole block
  // With all that is called there; absent where it cannot be known.
  std::optional<std::int64_t> inclusive;
  std::string text = {};  // of the source, without the blanks around it; empty if it is not known
};

// Whole numbers, so that all sums are exact. They need not add up to the count: most code has no
// line numbers.
struct LineCosts {
  std::uint64_t iterations = 1;
  std::vector<LineCost> lines;  // by file and line

  double per_iteration(std::int64_t cost) const {
    return static_cast<double>(cost) / static_cast<double>(iterations);
  }
};

// Of a profile with lines. Those of files without a name are left out.
//
// A line of a recursive function costs, with what it calls, what its outermost calls cost. Where
// several functions have calls on one line, as instances of a template do, one may be made in
// another's, and the inclusive cost is not known.
LineCosts line_costs(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
