// Change points of series whose changes are known, and of series without any.
#include "core/history/change_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace instr::change_points_test {
namespace {

// Not std::normal_distribution, which differs between standard libraries.
double noise(std::mt19937& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
  return sum - 6;
}

std::vector<double> series(std::mt19937& random, const std::vector<std::pair<int, double>>& parts) {
  std::vector<double> values;
  for (const auto& [count, level] : parts) {
    for (int i = 0; i < count; ++i) values.push_back(level + noise(random));
  }
  return values;
}

TEST(ChangePoints, AreFoundWhereTheLevelChanges) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const auto points = find_change_points(series(random, {{30, 100}, {20, 108}, {25, 95}}));
    ASSERT_EQ(points.size(), 2u) << round;
    EXPECT_NEAR(static_cast<double>(points[0].first), 30, 1);
    EXPECT_NEAR(static_cast<double>(points[1].first), 50, 1);
    for (const ChangePoint& point : points) EXPECT_LE(point.p, 0.01);
  }
}

TEST(ChangePoints, AreRareInAConstantSeries) {
  std::mt19937 random(7);
  int alarms = 0;
  for (int round = 0; round < 100; ++round) {
    if (!find_change_points(series(random, {{50, 100}})).empty()) ++alarms;
  }
  EXPECT_LE(alarms, 3);  // 1 is expected
}

TEST(ChangePoints, NeedEnoughValues) {
  std::mt19937 random(7);
  EXPECT_TRUE(find_change_points({}).empty());
  EXPECT_TRUE(find_change_points({1}).empty());
  EXPECT_TRUE(find_change_points({1, 1, 1, 1, 1, 1, 1, 1, 1}).empty());
  EXPECT_TRUE(find_change_points(series(random, {{30, 100}, {1, 200}})).empty());
  EXPECT_TRUE(find_change_points(series(random, {{30, 100}, {1, 200}, {30, 100}})).empty());
  EXPECT_TRUE(find_change_points(series(random, {{4, 100}, {4, 200}})).empty());
  EXPECT_FALSE(find_change_points(series(random, {{8, 100}, {8, 200}})).empty());
}

}  // namespace
}  // namespace instr::change_points_test
