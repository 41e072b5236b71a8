#include "core/values/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "core/values/timing.h"

namespace instr {

namespace {

struct Moments {
  double n = 0;
  double mean = 0;
  double variance = 0;  // of the population that the values are a sample of
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  moments.n = static_cast<double>(values.size());
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / moments.n;
  for (double value : values) moments.variance += std::pow(value - moments.mean, 2);
  moments.variance /= moments.n - 1;
  return moments;
}

// The sum of the ranks of `a` among all values, equal ones sharing theirs, and what ties take from
// the variance of that sum.
struct Ranks {
  double sum = 0;
  double ties = 0;
};

Ranks ranks_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value, whether it is one of a
  for (double value : a) all.emplace_back(value, true);
  for (double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranks ranks;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    double shared = static_cast<double>(begin + 1 + end) / 2;
    double count = static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) ranks.sum += all[i].second ? shared : 0;
    ranks.ties += count * count * count - count;
    begin = end;
  }
  return ranks;
}

}  // namespace

double t_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || b.size() < 2) return 1;
  Moments x = moments_of(a);
  Moments y = moments_of(b);
  double of_x = x.variance / x.n;
  double of_y = y.variance / y.n;
  double error = std::sqrt(of_x + of_y);
  if (error == 0) return x.mean == y.mean ? 1 : 0;
  double freedom = std::pow(of_x + of_y, 2) / (of_x * of_x / (x.n - 1) + of_y * of_y / (y.n - 1));
  boost::math::students_t distribution(freedom);
  double t = std::abs(x.mean - y.mean) / error;
  return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

double rank_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || b.size() < 2) return 1;
  auto n = static_cast<double>(a.size());
  auto m = static_cast<double>(b.size());
  Ranks ranks = ranks_of(a, b);
  double u = ranks.sum - n * (n + 1) / 2;
  double all = n + m;
  double variance = n * m / 12 * (all + 1 - ranks.ties / (all * (all - 1)));
  if (variance <= 0) return 1;
  // A whole number is told from its neighbours by half of one.
  double distance = std::max(std::abs(u - n * m / 2) - 0.5, 0.0);
  boost::math::normal distribution;
  double z = distance / std::sqrt(variance);
  return std::min(1.0, 2 * boost::math::cdf(boost::math::complement(distribution, z)));
}

std::optional<std::pair<double, double>> ratio_interval(const std::vector<double>& before,
                                                        const std::vector<double>& after) {
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  // rank_test() without ties: that many ratios below a value, or fewer, reject it.
  const double z = boost::math::quantile(boost::math::normal(), 0.975);
  const double least = std::ceil(n * m / 2 - z * std::sqrt(n * m / 12 * (n + m + 1)) - 0.5);
  if (n == 0 || m == 0 || least < 1) return std::nullopt;
  if (*std::min_element(after.begin(), after.end()) <= 0) return std::nullopt;
  std::vector<double> ratios;
  for (double was : before) {
    for (double is : after) ratios.push_back(was / is);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto place = static_cast<std::size_t>(least) - 1;
  return std::pair(ratios[place], ratios[ratios.size() - 1 - place]);
}

std::string to_string(const Speedup& speedup) {
  std::string text = fmt::format("{:.2f}x", speedup.ratio);
  if (speedup.interval) {
    const auto& [low, high] = *speedup.interval;
    const double share = (high - low) / 2 / speedup.ratio;
    text += share < 0.005 ? " ±<1%" : fmt::format(" ±{:.0f}%", share * 100);
  }
  return text + (speedup.p < 0.01 ? " (p<0.01)" : fmt::format(" (p={:.2f})", speedup.p));
}

std::optional<Speedup> speedup(const std::vector<double>& before,
                               const std::vector<double>& after) {
  double was = median(before);
  double is = median(after);
  if (was <= 0 || is <= 0) return std::nullopt;
  Speedup found{was / is, std::max(t_test(before, after), rank_test(before, after)),
                ratio_interval(before, after)};
  if (auto& interval = found.interval) {
    interval = {std::min(interval->first, found.ratio), std::max(interval->second, found.ratio)};
  }
  return found;
}

namespace {

struct Split {
  std::size_t first = 0;
  double size = -1;  // of the energy distance, scaled by the numbers of values; below 0: none
};

// The sum of the distances between `value` and the others.
double distance(double value, std::span<const double> others) {
  double sum = 0;
  for (const double other : others) sum += std::fabs(value - other);
  return sum;
}

double mean_within(double sum, double count) {
  return count < 2 ? 0 : 2 * sum / count / (count - 1);
}

// The best split of these values; `first` counts from their begin.
Split best_split(std::span<const double> values, std::size_t least) {
  double left = 0;     // between pairs of values before the split
  double right = 0;    // after it
  double between = 0;  // one of each
  for (std::size_t i = 0; i < values.size(); ++i) {
    right += distance(values[i], values.subspan(i + 1));
  }
  Split best;
  for (std::size_t at = 0; at + least < values.size(); ++at) {
    const double to_left = distance(values[at], values.first(at));
    const double to_right = distance(values[at], values.subspan(at + 1));
    left += to_left;
    right -= to_right;
    between += to_right - to_left;
    if (at + 1 < least) continue;
    const auto before = static_cast<double>(at + 1);
    const auto after = static_cast<double>(values.size()) - before;
    const double energy =
        2 * between / before / after - mean_within(left, before) - mean_within(right, after);
    const double size = before * after / (before + after) * energy;
    if (size > best.size) best = {at + 1, size};
  }
  return best;
}

// Values in segments that do not change.
class Divisions {
 public:
  Divisions(const std::vector<double>& values, const ChangePointOptions& options)
      : values_(values), options_(options), ends_{0, values.size()} {}

  // Finds one more change; false if no other is significant.
  bool divide() {
    const Split best = best_of(values_);
    if (best.size <= 0) return false;
    const double p = chance_of(best.size);
    if (p > options_.level) return false;
    ends_.insert(std::lower_bound(ends_.begin(), ends_.end(), best.first), best.first);
    found_.push_back({best.first, p});
    return true;
  }

  std::vector<ChangePoint> take() {
    std::sort(found_.begin(), found_.end(), [](const ChangePoint& left, const ChangePoint& right) {
      return left.first < right.first;
    });
    return std::move(found_);
  }

 private:
  // Of any segment.
  Split best_of(const std::vector<double>& values) const {
    Split best;
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      const auto segment = std::span(values).subspan(ends_[i], ends_[i + 1] - ends_[i]);
      const Split split = best_split(segment, options_.least);
      if (split.size > best.size) best = {ends_[i] + split.first, split.size};
    }
    return best;
  }

  // How often values in random order have a split of that size. Ends once it is not significant.
  double chance_of(double size) {
    std::size_t as_good = 1;  // the order that is there
    const double total = static_cast<double>(options_.permutations) + 1;
    std::vector<double> shuffled = values_;
    for (std::size_t i = 0; i < options_.permutations; ++i) {
      for (std::size_t j = 0; j + 1 < ends_.size(); ++j) shuffle(shuffled, ends_[j], ends_[j + 1]);
      if (best_of(shuffled).size >= size) ++as_good;
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
  std::vector<std::size_t> ends_;  // of segments, with the begin of the first
  std::vector<ChangePoint> found_;
  std::mt19937 random_{20140101};
};

}  // namespace

std::vector<ChangePoint> change_points(const std::vector<double>& values,
                                       const ChangePointOptions& options) {
  Divisions divisions(values, options);
  while (divisions.divide()) continue;
  return divisions.take();
}

}  // namespace instr
