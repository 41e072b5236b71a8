// Costs of the lines of sources, for code with line numbers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/profile/profile.h"

namespace instr {

// The name of the rest of a count.
inline constexpr const char* kNoLineNumbers = "code without line numbers";

struct LineCost {
  std::string file;
  int line = 0;
  std::int64_t self = 0;                  // instructions of the whole block
  std::optional<std::int64_t> inclusive;  // `self`, and all that is called there; absent if unknown
  std::string text = {};  // the source line, without the blanks around it; empty if unknown
};

// Costs are whole numbers, so that all sums are exact. They need not add up to the count: most code
// has no line numbers.
struct LineCosts {
  std::uint64_t iterations = 1;
  std::vector<LineCost> lines;  // sorted by file and line

  double per_iteration(std::int64_t cost) const {
    return static_cast<double>(cost) / static_cast<double>(iterations);
  }
};

// Returns the costs in a profile with lines, without those of files without a name.
//
// The inclusive cost of a line of a recursive function is that of its outermost calls. It is
// unknown if several functions have calls on the line, as instances of a template do: their calls
// may be nested.
LineCosts line_costs(const Profile& profile, std::uint64_t iterations);

}  // namespace instr
