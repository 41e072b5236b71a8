#include "core/results/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "core/definitions/metrics.h"

namespace instr {

namespace {

struct Moments {
  double n = 0;
  double mean = 0;
  double variance = 0;  // the variance of the population that was sampled
};

Moments compute_moments(const std::vector<double>& values) {
  Moments moments;
  moments.n = static_cast<double>(values.size());
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / moments.n;
  for (double value : values) moments.variance += std::pow(value - moments.mean, 2);
  moments.variance /= moments.n - 1;
  return moments;
}

// The sum of the ranks of `a` among all values, where equal values share a rank, and the amount by
// which ties reduce the variance of that sum.
struct Ranks {
  double sum = 0;
  double ties = 0;
};

Ranks compute_ranks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value; true if it is from `a`
  for (double value : a) all.emplace_back(value, true);
  for (double value : b) all.emplace_back(value, false);
  std::ranges::sort(all);
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
  Moments x = compute_moments(a);
  Moments y = compute_moments(b);
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
  Ranks ranks = compute_ranks(a, b);
  double u = ranks.sum - n * (n + 1) / 2;
  double all = n + m;
  double variance = n * m / 12 * (all + 1 - ranks.ties / (all * (all - 1)));
  if (variance <= 0) return 1;
  // The continuity correction of a half.
  double distance = std::max(std::abs(u - n * m / 2) - 0.5, 0.0);
  boost::math::normal distribution;
  double z = distance / std::sqrt(variance);
  return std::min(1.0, 2 * boost::math::cdf(boost::math::complement(distribution, z)));
}

bool can_differ(std::size_t before, std::size_t after) {
  std::vector<double> low(before);
  std::vector<double> high(after);
  std::iota(low.begin(), low.end(), 0.0);
  std::iota(high.begin(), high.end(), static_cast<double>(before));
  return rank_test(low, high) <= kSameAbove;
}

std::size_t min_repetitions() {
  std::size_t min = 1;
  while (!can_differ(min, min)) ++min;
  return min;
}

std::optional<std::pair<double, double>> ratio_interval(const std::vector<double>& before,
                                                        const std::vector<double>& after) {
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  // rank_test() without ties: a value with so few ratios below it is rejected.
  const double z = boost::math::quantile(boost::math::normal(), 0.975);
  const double min = std::ceil(n * m / 2 - z * std::sqrt(n * m / 12 * (n + m + 1)) - 0.5);
  if (n == 0 || m == 0 || min < 1) return std::nullopt;
  if (std::ranges::min(after) <= 0) return std::nullopt;
  std::vector<double> ratios;
  for (double was : before) {
    for (double is : after) ratios.push_back(was / is);
  }
  std::ranges::sort(ratios);
  const auto place = static_cast<std::size_t>(min) - 1;
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
  Speedup result{was / is, std::max(t_test(before, after), rank_test(before, after)),
                 ratio_interval(before, after)};
  if (auto& interval = result.interval) {
    interval = {std::min(interval->first, result.ratio), std::max(interval->second, result.ratio)};
  }
  return result;
}

std::optional<Speedup> speedup_over(const Timing& eager, const Timing& timing) {
  return speedup(timing.eager.empty() ? eager.of(kWall) : timing.eager, timing.of(kWall));
}

namespace {

constexpr double kMaxChance = 0.05;

// A drift that slows eager and the variant alike leaves their ratio as it is, unless it comes
// between the two repetitions of a round in the middle.
constexpr double kMinDrift = 0.2;
constexpr double kMinRatioDrift = 0.05;

// Returns eager's times over those of the variant, round by round.
std::vector<double> ratios_by_round(const Timing& timing) {
  const std::vector<double>& own = timing.of(kWall);
  std::vector<double> ratios;
  if (timing.eager.size() != own.size()) return ratios;
  for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(timing.eager[i] / own[i]);
  return ratios;
}

std::string format_drift(const char* what, double drift) {
  return fmt::format("{} {} by {:.0f}% halfway", what, drift > 1 ? "rose" : "fell",
                     std::abs(drift - 1) * 100);
}

}  // namespace

std::optional<double> find_drift(const std::vector<double>& values, double min) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  const std::vector<double> first(values.begin(), middle);
  const std::vector<double> second(middle, values.end());
  if (first.empty() || !(median(first) > 0)) return std::nullopt;
  const double drift = median(second) / median(first);
  const bool is_large = std::abs(drift - 1) > min;
  return is_large && rank_test(first, second) < kMaxChance ? std::optional(drift) : std::nullopt;
}

std::optional<std::string> find_disturbance(const Timing& timing) {
  if (const double others = timing.others.value_or(0); others > kBusyCores) {
    return fmt::format("other processes used {:.1f} cores", others);
  }
  if (const auto drift = find_drift(ratios_by_round(timing), kMinRatioDrift)) {
    return format_drift("the speed-up", *drift);
  }
  if (const auto drift = find_drift(timing.of(kWall), kMinDrift)) {
    return format_drift("times", *drift);
  }
  if (const auto drift = find_drift(timing.eager, kMinDrift)) {
    return format_drift("eager's times", *drift);
  }
  return std::nullopt;
}

}  // namespace instr
