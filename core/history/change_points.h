// Finds the places where the level of a noisy series changed, by the E-divisive method of Matteson
// and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data"
// (J. Am. Stat. Assoc. 109, 2014): the split with the greatest energy distance, tested by
// permutation, then the splits of both parts.
#pragma once

#include <cstddef>
#include <vector>

namespace instr {

struct ChangePoint {
  std::size_t first = 0;  // the index of the first value after it
  double p = 1;           // the probability that chance makes a split as good as this

  bool operator==(const ChangePoint&) const = default;
};

struct ChangePointOptions {
  std::size_t min_values = 5;  // between two changes, before the first and after the last
  double level = 0.01;         // of significance
  std::size_t permutations = 999;
};

// Returns the change points, sorted. The permutations are pseudo-random: equal values give equal
// results.
std::vector<ChangePoint> find_change_points(const std::vector<double>& values,
                                            const ChangePointOptions& options = {});

}  // namespace instr
