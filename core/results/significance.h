// Tests whether two sets of times differ by more than chance. Every table, page and picture has its
// speed-ups, intervals and p-values from here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/results/timing.h"

namespace instr {

// Two-sided p-values: how likely times that far apart are if nothing differs. 1 if a side has fewer
// than two values; 0 if the values of each side are equal, and the sides differ.
double t_test(const std::vector<double>& a, const std::vector<double>& b);     // Welch's
double rank_test(const std::vector<double>& a, const std::vector<double>& b);  // Mann and Whitney's

// The p-value above which times count as the same.
inline constexpr double kSameAbove = 0.1;

// True if this many times on either side can differ by more than chance: with too few, no
// difference is large enough.
bool can_differ(std::size_t before, std::size_t after);
std::size_t min_repetitions();  // the minimum on either side

// The interval of ratios before / after that the rank test does not reject at 5%: bounds of the
// median of all ratios of a value of one side to a value of the other (Hodges and Lehmann's).
// Nothing with too few values to reject any ratio, fewer than four on each side.
std::optional<std::pair<double, double>> ratio_interval(const std::vector<double>& before,
                                                        const std::vector<double>& after);

struct Speedup {
  double ratio = 1;  // median of `before` / median of `after`: 2 is twice as fast
  double p = 1;      // the greater p-value of both tests
  std::optional<std::pair<double, double>> interval = {};  // 95%, the ratio in it
  bool is_same() const { return p > kSameAbove; }
};

// "1.42x ±2% (p=0.03)": the percentage is half the interval's width.
std::string to_string(const Speedup& speedup);

// Returns nothing if a median is not above 0.
std::optional<Speedup> speedup(const std::vector<double>& before, const std::vector<double>& after);

// Compares wall times with eager's: those measured alternately with them, if any, else `eager`.
std::optional<Speedup> speedup_over(const Timing& eager, const Timing& timing);

// Signs that something else than the benchmarks moved their times.

// Returns the second half's median over that of the first half, if the halves differ by more than
// chance and by more than `min`, a share. `values`: in the order in which they were measured.
std::optional<double> find_drift(const std::vector<double>& values, double min);

// Returns why a variant's times, and its speed-up, cannot be trusted: "other processes used 1.0
// cores", "times rose by 40% halfway"; nothing if there is no sign of it.
std::optional<std::string> find_disturbance(const Timing& timing);

}  // namespace instr
