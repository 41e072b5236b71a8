#include "core/results/disturbance.h"

#include <fmt/format.h>

#include <cmath>

#include "core/definitions/metrics.h"
#include "core/results/significance.h"

namespace instr {

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
