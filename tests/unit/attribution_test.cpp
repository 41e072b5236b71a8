#include "core/compare/attribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace instr::attribution_test {
namespace {

constexpr const char* kTorch = "libtorch_cpu.so";

Attribution attribute(const std::vector<FunctionCost>& before,
                      const std::vector<FunctionCost>& after, double difference,
                      AttributionOptions options = {}) {
  return Attributor(options).attribute(before, after, difference);
}

double sum_of(const Attribution& attribution) {
  double sum = attribution.others_change + attribution.unexplained;
  for (const FunctionChange& part : attribution.parts) sum += part.change;
  return sum;
}

TEST(Attribution, MovedNewAndGoneFunctionsAreNamed) {
  auto result =
      attribute({{"at::add", kTorch, 100}, {"at::old", kTorch, 30}, {"same", kTorch, 7}},
                {{"at::add", kTorch, 150}, {"at::fresh", kTorch, 5}, {"same", kTorch, 7}}, 25);
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].function, "at::add");
  EXPECT_EQ(result.parts[0].state, FunctionState::kMoved);
  EXPECT_EQ(result.parts[0].change, 50);
  EXPECT_EQ(result.parts[1].function, "at::old");
  EXPECT_EQ(result.parts[1].state, FunctionState::kGone);
  EXPECT_EQ(result.parts[1].change, -30);
  EXPECT_EQ(result.parts[2].function, "at::fresh");
  EXPECT_EQ(result.parts[2].state, FunctionState::kNew);
  EXPECT_EQ(result.unexplained, 0);
  EXPECT_EQ(sum_of(result), 25);
}

TEST(Attribution, CallsOfEqualNamesAreSummed) {
  auto result =
      attribute({{"f()", kTorch, 10, 2}, {"f()'2", kTorch, 10, 1.5}, {"h(int)", kTorch, 9, 4}},
                {{"f()", kTorch, 30, 3}, {"g", kTorch, 6, 7}, {"h(long)", kTorch, 4, 5}}, 11);
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].calls_before, 3.5);
  EXPECT_EQ(result.parts[0].calls_after, 3);
  EXPECT_EQ(result.parts[1].state, FunctionState::kNew);
  EXPECT_EQ(result.parts[1].calls_before, 0);
  EXPECT_EQ(result.parts[1].calls_after, 7);
  EXPECT_FALSE(result.parts[2].same_name);
  EXPECT_EQ(result.parts[2].calls_before, 4);
  EXPECT_EQ(result.parts[2].calls_after, 5);
}

TEST(Attribution, AFunctionWithOnlyMoreCallsDidNotChange) {
  auto result = attribute({{"f", kTorch, 10, 2}, {"g", kTorch, 1}},
                          {{"f", kTorch, 10, 3}, {"g", kTorch, 2}}, 1);
  ASSERT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.parts[0].function, "g");
}

TEST(Attribution, AFunctionInTwoLibrariesCountsTwice) {
  auto result = attribute({{"f", "liba.so", 1}, {"f", "libb.so", 2}},
                          {{"f", "liba.so", 2}, {"f", "libb.so", 1}}, 0);
  ASSERT_EQ(result.parts.size(), 2U);
  EXPECT_EQ(result.parts[0].object, "liba.so");
  EXPECT_EQ(result.parts[1].object, "libb.so");
}

TEST(Attribution, LibraryVersionsAndUnitsAndSnippetsMatch) {
  auto result = attribute(
      {{"f", "libtorch_cpu.so.1.13.0", 10},
       {"instr_snippet_0f3a", "unit-12ab.so", 4},
       {"g", "unit-1.so", 1}},
      {{"f", kTorch, 12}, {"instr_snippet_77", "unit-99.so", 5}, {"g", "unit-2.so", 1}}, 3);
  ASSERT_EQ(result.parts.size(), 2U);
  EXPECT_EQ(result.parts[0].state, FunctionState::kMoved);
  EXPECT_EQ(result.parts[0].object, kTorch);
  EXPECT_EQ(result.parts[1].function, "the snippet");
  EXPECT_EQ(result.parts[1].state, FunctionState::kMoved);
}

TEST(Attribution, CodeWithoutSymbolsIsSummedByLibrary) {
  auto result =
      attribute({{"0x00000000018505a0", "libtorch_cpu.so.1.13.0", 100},
                 {"0x0000000001850600'2", "libtorch_cpu.so.1.13.0", 20},
                 {"0x0000000000001000", "libc10.so", 7}},
                {{"0x00000000017705a0", kTorch, 130}, {"0x0000000000002000", "???", 3}}, 6);
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].function, "libtorch_cpu.so: code without symbols");
  EXPECT_EQ(result.parts[0].change, 10);
  EXPECT_FALSE(result.parts[0].has_symbol);
  EXPECT_EQ(result.parts[1].change, -7);
  EXPECT_EQ(result.parts[2].function, "code of no library");
  EXPECT_EQ(sum_of(result), 6);
}

TEST(Attribution, RecursionAndClonesBelongToTheirFunction) {
  auto result =
      attribute({{"f()'2", kTorch, 1}, {"f()", kTorch, 1}, {"h.isra.0", "a.so", 3}},
                {{"f() [clone .isra.0]", kTorch, 7}, {"h.constprop.1.isra.0", "a.so", 3}}, 5);
  ASSERT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.parts[0].change, 5);
  EXPECT_EQ(result.parts[0].state, FunctionState::kMoved);
}

TEST(Attribution, ChangedParameterTypesMatchIfUnambiguous) {
  auto result = attribute({{"at::empty(c10::optional<bool>)", kTorch, 10}},
                          {{"at::empty(std::optional<bool>)", kTorch, 12}}, 2);
  ASSERT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.parts[0].state, FunctionState::kMoved);
  EXPECT_FALSE(result.parts[0].same_name);
  EXPECT_EQ(result.parts[0].function, "at::empty(std::optional<bool>)");
  // Two overloads are new, so the match is ambiguous.
  result = attribute({{"at::empty(int)", kTorch, 10}},
                     {{"at::empty(long)", kTorch, 11}, {"at::empty(char)", kTorch, 5}}, 6);
  EXPECT_EQ(result.parts.size(), 3U);
  // A function that stayed is not a candidate.
  result = attribute({{"f(int)", kTorch, 10}, {"f(long)", kTorch, 1}},
                     {{"f(int)", kTorch, 11}, {"f(char)", kTorch, 1}}, 1);
  ASSERT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.parts[0].function, "f(int)");
}

TEST(Attribution, AFunctionThatMovedToAnotherLibraryMatchesIfUnambiguous) {
  auto result = attribute({{"at::inlined()", "libc10.so", 10}}, {{"at::inlined()", kTorch, 12}}, 2);
  ASSERT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.parts[0].change, 2);
  EXPECT_EQ(result.parts[0].object, kTorch);
  EXPECT_EQ(result.parts[0].object_before, "libc10.so");
  EXPECT_TRUE(result.parts[0].same_name);
  result = attribute({{"f", "libc10.so", 10}}, {{"f", kTorch, 12}, {"f", "unit-1.so", 1}}, 3);
  EXPECT_EQ(result.parts.size(), 3U);
  // Code without symbols never matches that of another library.
  result = attribute({{"0x01", "libc10.so", 10}}, {{"0x02", kTorch, 12}}, 2);
  EXPECT_EQ(result.parts.size(), 2U);
}

TEST(Attribution, KnownNamesDoNotAffectLaterProfiles) {
  Attributor attributor;
  const std::vector<FunctionCost> first{
      {"f(int)", kTorch, 1}, {"0x1", "a.so", 4}, {"g", "b.so", 1}};
  const std::vector<FunctionCost> second{
      {"f(long)", kTorch, 3}, {"0x2", "a.so", 1}, {"g", "c.so", 3}};
  for (int i = 0; i < 3; ++i) {
    auto kept = attributor.attribute(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first, 1);
    auto fresh = attribute(i % 2 == 0 ? first : second, i % 2 == 0 ? second : first, 1);
    ASSERT_EQ(kept.parts.size(), 3U);
    for (std::size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(kept.parts[part].function, fresh.parts[part].function);
      EXPECT_EQ(kept.parts[part].change, fresh.parts[part].change);
    }
  }
}

TEST(Attribution, HasARestAndAnUnexplainedPart) {
  std::vector<FunctionCost> before;
  std::vector<FunctionCost> after;
  for (int i = 0; i < 20; ++i) {
    before.push_back({"f" + std::to_string(i), kTorch, 100});
    after.push_back({"f" + std::to_string(i), kTorch, 100.0 + i});
  }
  auto result = attribute(before, after, 200, {3});
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].function, "f19");
  EXPECT_EQ(result.others, 16U);
  EXPECT_EQ(result.others_change, 190 - 19 - 18 - 17);
  EXPECT_EQ(result.unexplained, 10);
  EXPECT_EQ(sum_of(result), 200);
}

TEST(Attribution, WithoutOneProfileEverythingIsUnexplained) {
  EXPECT_EQ(attribute({}, {{"f", kTorch, 3}}, 3).unexplained, 3);
  EXPECT_TRUE(attribute({{"f", kTorch, 3}}, {}, -3).parts.empty());
  auto infinite = attribute({{"f", kTorch, INFINITY}}, {{"f", kTorch, 1}}, -INFINITY);
  EXPECT_EQ(infinite.unexplained, -INFINITY);
}

TEST(Attribution, PartsAddUpExactly) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-3, 12);
  for (int round = 0; round < 300; ++round) {
    std::vector<FunctionCost> before;
    std::vector<FunctionCost> after;
    double difference = 0;
    for (int i = 0; i < 60; ++i) {
      std::string name = "f" + std::to_string(random() % 80);
      std::string address = "0x" + std::to_string(random() % 10);
      double first = std::pow(10, exponent(random)) / 3;
      double second = std::pow(10, exponent(random)) / 7;
      before.push_back({random() % 3 != 0 ? name : address, kTorch, first});
      after.push_back({random() % 3 != 0 ? name : address, kTorch, second});
      difference += second - first;
    }
    auto result = attribute(before, after, difference, {random() % 70});
    EXPECT_EQ(sum_of(result), result.difference);
    EXPECT_NEAR(result.difference, difference, 1e-6 + std::fabs(difference) * 1e-15 + 1e-3);
    auto reverse = attribute(after, before, -difference, {70});
    EXPECT_EQ(sum_of(reverse), -result.difference);
  }
}

}  // namespace
}  // namespace instr::attribution_test
