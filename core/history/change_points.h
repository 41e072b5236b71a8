// Where the level of a noisy series changed: E-divisive, of Matteson and James, "A Nonparametric
// Approach for Multiple Change Point Analysis of Multivariate Data" (J. Am. Stat. Assoc. 109,
// 2014): the split of the greatest energy distance, tested by permutation, then those of its parts.
#pragma once

#include <cstddef>
#include <vector>

namespace instr {

struct ChangePoint {
  std::size_t first = 0;  // the index of the first value after it
  double p = 1;           // of a split as good as this by chance

  bool operator==(const ChangePoint&) const = default;
};

struct ChangePointOptions {
  std::size_t min = 5;  // values between two changes, and before and after them: never from one
  double level = 0.01;  // of significance
  std::size_t permutations = 999;
};

// Sorted. The same for the same values: the permutations are pseudo-random.
std::vector<ChangePoint> change_points(const std::vector<double>& values,
                                       const ChangePointOptions& options = {});

}  // namespace instr
