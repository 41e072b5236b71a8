#include "core/values/significance.h"

#include <gtest/gtest.h>

namespace instr {
namespace {

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

TEST(Significance, SpeedupIsOfMediansAndSameWhereChanceExplainsIt) {
  auto slower = speedup(kBefore, kSlower);
  ASSERT_TRUE(slower);
  EXPECT_NEAR(slower->ratio, 10.1 / 10.65, 1e-12);
  EXPECT_FALSE(slower->is_same());
  EXPECT_TRUE(speedup(kBefore, kAlike)->is_same());
  EXPECT_FALSE(speedup({}, kBefore));
  EXPECT_FALSE(speedup(kBefore, {0, 0}));
}

}  // namespace
}  // namespace instr
