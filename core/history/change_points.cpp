#include "core/history/change_points.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

namespace instr {

namespace {

struct Split {
  std::size_t first = 0;
  double size = -1;  // the energy distance, scaled by the numbers of values; below 0: no split
};

// Returns the sum of the distances between `value` and the others.
double sum_distances(double value, std::span<const double> others) {
  double sum = 0;
  for (const double other : others) sum += std::fabs(value - other);
  return sum;
}

double mean_within(double sum, double count) {
  return count < 2 ? 0 : 2 * sum / count / (count - 1);
}

// Returns the best split of these values; Split::first counts from their beginning.
Split best_split(std::span<const double> values, std::size_t min_values) {
  // Sums of distances: of pairs before the split, after it, and with a value on each side.
  double left = 0;
  double right = 0;
  double between = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    right += sum_distances(values[i], values.subspan(i + 1));
  }
  Split best;
  for (std::size_t at = 0; at + min_values < values.size(); ++at) {
    const double to_left = sum_distances(values[at], values.first(at));
    const double to_right = sum_distances(values[at], values.subspan(at + 1));
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    if (at + 1 < min_values) continue;
    const auto before = static_cast<double>(at + 1);
    const auto after = static_cast<double>(values.size()) - before;
    const double energy =
        2 * between / before / after - mean_within(left, before) - mean_within(right, after);
    const double size = before * after / (before + after) * energy;
    if (size > best.size) best = {at + 1, size};
  }
  return best;
}

// Values that are divided into segments without a change.
class Divisions {
 public:
  Divisions(const std::vector<double>& values, const ChangePointOptions& options)
      : values_(values), options_(options), ends_{0, values.size()} {}

  // Finds one more change; returns false if no other is significant.
  bool divide() {
    const Split best = find_best_split(values_);
    if (best.size <= 0) return false;
    const double p = compute_p(best.size);
    if (p > options_.level) return false;
    ends_.insert(std::lower_bound(ends_.begin(), ends_.end(), best.first), best.first);
    points_.push_back({best.first, p});
    return true;
  }

  std::vector<ChangePoint> take() {
    std::ranges::sort(points_, {}, &ChangePoint::first);
    return std::move(points_);
  }

 private:
  // Returns the best split of any segment.
  Split find_best_split(const std::vector<double>& values) const {
    Split best;
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      const auto segment = std::span(values).subspan(ends_[i], ends_[i + 1] - ends_[i]);
      const Split split = best_split(segment, options_.min_values);
      if (split.size > best.size) best = {ends_[i] + split.first, split.size};
    }
    return best;
  }

  // Returns how often values in random order have a split of at least that size; 1 as soon as it is
  // not significant.
  double compute_p(double size) {
    std::size_t as_good = 1;  // the given order
    const double total = static_cast<double>(options_.permutations) + 1;
    std::vector<double> shuffled = values_;
    for (std::size_t i = 0; i < options_.permutations; ++i) {
      for (std::size_t j = 0; j + 1 < ends_.size(); ++j) shuffle(shuffled, ends_[j], ends_[j + 1]);
      if (find_best_split(shuffled).size >= size) ++as_good;
      if (static_cast<double>(as_good) > options_.level * total) return 1;
    }
    return static_cast<double>(as_good) / total;
  }

  // Not std::shuffle, which differs between standard libraries.
  void shuffle(std::vector<double>& values, std::size_t begin, std::size_t end) {
    for (std::size_t i = end; i > begin + 1; --i) {
      std::swap(values[i - 1], values[begin + random_() % (i - begin)]);
    }
  }

  const std::vector<double>& values_;
  const ChangePointOptions options_;
  std::vector<std::size_t> ends_;  // of segments, and the beginning of the first
  std::vector<ChangePoint> points_;
  std::mt19937 random_{20140101};
};

}  // namespace

std::vector<ChangePoint> find_change_points(const std::vector<double>& values,
                                            const ChangePointOptions& options) {
  Divisions divisions(values, options);
  while (divisions.divide()) continue;
  return divisions.take();
}

}  // namespace instr
