#include "core/results/significance.h"

#include "core/definitions/metrics.h"
#include "tests/testing.h"

namespace instr::significance_test {
namespace {

using namespace testing;

using Values = std::vector<double>;

const Values kBefore{10.1, 10.4, 9.8, 10.0, 10.2, 10.3, 9.9, 10.1};
const Values kSlower{10.6, 10.9, 10.2, 10.8, 10.5, 10.4, 10.7, 11.3};
const Values kAlike{10.2, 10.3, 9.9, 10.1, 10.0, 10.5};

// scipy.stats 1.17: ttest_ind(a, b, equal_var=False), mannwhitneyu(a, b, method="asymptotic").
TEST(Significance, PValuesAreThoseOfScipy) {
  EXPECT_NEAR(t_test(kBefore, kSlower), 0.0015026523163717983, 1e-12);
  EXPECT_NEAR(rank_test(kBefore, kSlower), 0.002702252061104255, 1e-12);
  EXPECT_NEAR(t_test(kBefore, kAlike), 0.5679149741195795, 1e-12);
  EXPECT_NEAR(rank_test(kBefore, kAlike), 0.6484809400921883, 1e-12);
  EXPECT_EQ(t_test(kBefore, kSlower), t_test(kSlower, kBefore));
  EXPECT_EQ(rank_test(kBefore, kSlower), rank_test(kSlower, kBefore));
}

TEST(Significance, TooFewTimesGiveNoPValue) {
  EXPECT_EQ(t_test({}, {}), 1);
  EXPECT_EQ(t_test({1}, {2, 3}), 1);
  EXPECT_EQ(rank_test({1, 2}, {3}), 1);
  EXPECT_EQ(t_test({2, 2}, {2, 2, 2}), 1);
  EXPECT_EQ(rank_test({2, 2}, {2, 2, 2}), 1);
  EXPECT_EQ(t_test({2, 2}, {3, 3}), 0);
}

// With two values on each side the rank test's smallest p-value is 0.245.
TEST(Significance, TooFewTimesCannotDiffer) {
  EXPECT_FALSE(can_differ(1, 100));
  EXPECT_FALSE(can_differ(2, 2));
  EXPECT_TRUE(can_differ(3, 3));
  EXPECT_TRUE(can_differ(2, 5));
  EXPECT_EQ(min_repetitions(), 3u);
}

// Scaling a side by a ratio just inside the interval passes the rank test at 5%; by a ratio just
// outside, it does not.
TEST(Significance, TheIntervalHoldsTheRatiosThatTheRankTestDoesNotReject) {
  const Values before{10.13, 10.41, 9.82, 10.04, 10.26, 10.37, 9.95, 10.18, 10.09, 10.52};
  const Values after{5.11, 5.23, 4.94, 5.02, 5.17, 4.81, 5.31};
  const auto interval = value_of(ratio_interval(before, after));
  const auto p_of = [&](double ratio) {
    Values scaled;
    for (double value : after) scaled.push_back(value * ratio);
    return rank_test(before, scaled);
  };
  EXPECT_GT(p_of(interval.first * 1.000001), 0.05);
  EXPECT_LT(p_of(interval.first * 0.999999), 0.05);
  EXPECT_GT(p_of(interval.second * 0.999999), 0.05);
  EXPECT_LT(p_of(interval.second * 1.000001), 0.05);
  EXPECT_TRUE(ratio_interval({1, 2, 3, 4}, {1, 2, 3, 4}));
  EXPECT_FALSE(ratio_interval({1, 2, 3}, {1, 2, 3}));
  EXPECT_FALSE(ratio_interval({}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Significance, IsShownAsText) {
  EXPECT_EQ(to_string(Speedup{1.425, 0.0312, {{1.40, 1.45}}}), "1.43x ±2% (p=0.03)");
  EXPECT_EQ(to_string(Speedup{2, 0.004, {{1.999, 2.001}}}), "2.00x ±<1% (p<0.01)");
  EXPECT_EQ(to_string(Speedup{2, 0.2, {}}), "2.00x (p=0.20)");
}

TEST(Significance, SpeedupIsTheRatioOfMedians) {
  auto slower = value_of(speedup(kBefore, kSlower));
  EXPECT_NEAR(slower.ratio, 10.1 / 10.65, 1e-12);
  EXPECT_FALSE(slower.is_same());
  EXPECT_TRUE(speedup(kBefore, kAlike)->is_same());
  EXPECT_FALSE(speedup({}, kBefore));
  EXPECT_FALSE(speedup(kBefore, {0, 0}));
}

// --- Disturbed times ---

const Values kQuiet{10.1, 10.4, 9.8, 10.0, 10.2, 10.3, 9.9, 10.1, 10.2, 10.0};

Values times(const Values& values, double first, double second) {
  Values scaled;
  for (std::size_t i = 0; i < values.size(); ++i) {
    scaled.push_back(values[i] * (2 * i < values.size() ? first : second));
  }
  return scaled;
}

TEST(Disturbance, DriftIsMoreThanChanceAndMoreThanTheLimit) {
  EXPECT_FALSE(find_drift(kQuiet, 0.05));
  EXPECT_FALSE(find_drift(times(kQuiet, 1, 1.04), 0.05));
  EXPECT_TRUE(find_drift(times(kQuiet, 1, 1.08), 0.05));
  EXPECT_FALSE(find_drift(times(kQuiet, 1, 1.08), 0.2));
  EXPECT_NEAR(value_of(find_drift(times(kQuiet, 1, 1.5), 0.2)), 1.5, 0.02);
  EXPECT_NEAR(value_of(find_drift(times(kQuiet, 1.5, 1), 0.2)), 1 / 1.5, 0.02);
  // Varies, but not from one half to the other.
  EXPECT_FALSE(find_drift({10, 30, 12, 11, 35, 28}, 0.05));
  EXPECT_FALSE(find_drift({10, 10, 20, 20}, 0.05));  // too few
  EXPECT_FALSE(find_drift({}, 0.05));
  EXPECT_FALSE(find_drift({0, 0, 0, 0, 1, 1, 1, 1}, 0.05));
}

TEST(Disturbance, SaysWhatMovedTheTimes) {
  const auto reason = [](const Timing& timing) {
    return find_disturbance(timing).value_or("none");
  };
  Timing timing{{{kWall, kQuiet}}, 5};
  EXPECT_EQ(reason(timing), "none");
  timing.others = 0.2;
  EXPECT_EQ(reason(timing), "none");
  timing.others = 1.04;
  EXPECT_EQ(reason(timing), "other processes used 1.0 cores");
  timing.others = 0;
  timing.eager = times(kQuiet, 2, 2.2);
  EXPECT_EQ(reason(timing), "the speed-up rose by 10% halfway");
  timing.values[kWall] = times(kQuiet, 1, 1.1);
  EXPECT_EQ(reason(timing), "none");
  timing.values[kWall] = times(kQuiet, 1, 1.5);
  timing.eager = times(kQuiet, 2, 3);
  EXPECT_EQ(reason(timing), "times rose by 50% halfway");
  timing.eager.clear();
  EXPECT_EQ(reason(timing), "times rose by 50% halfway");
}

}  // namespace
}  // namespace instr::significance_test
