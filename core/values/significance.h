// Whether two sets of times differ by more than chance.
#pragma once

#include <optional>
#include <vector>

namespace instr {

// Two-sided p-values: how likely times that far apart are where nothing differs. 1 where a side has
// less than two values; 0 where each side's are all equal, and the sides' are not.
double t_test(const std::vector<double>& a, const std::vector<double>& b);     // Welch's
double rank_test(const std::vector<double>& a, const std::vector<double>& b);  // Mann and Whitney's

// Above this, they are the same.
inline constexpr double kSameAbove = 0.1;

struct Speedup {
  double ratio = 1;  // median of `before` / median of `after`: 2 is twice as fast
  double p = 1;      // the greater one of both tests
  bool is_same() const { return p > kSameAbove; }
};

// Nothing where a side has no value above 0.
std::optional<Speedup> speedup(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace instr
