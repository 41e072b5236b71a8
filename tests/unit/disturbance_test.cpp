#include <gtest/gtest.h>

#include "core/definitions/metrics.h"
#include "core/results/significance.h"
#include "tests/testing.h"

namespace instr::disturbance_test {
namespace {

using namespace testing;

using Values = std::vector<double>;

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
}  // namespace instr::disturbance_test
