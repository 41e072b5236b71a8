#include "core/compare/planted_changes.h"
#include "core/results/result_set.h"
#include "tests/testing.h"

namespace instr::selftest_test {
namespace {

using namespace testing;

constexpr const char* kForward = "p/eager/forward/t1/cpu";
constexpr const char* kBackward = "p/eager/forward_backward/t1/cpu";

const Plant kTen{"ten", "10 instructions", "planted::step", 10};

// Returns a run with a planted cost, a part of which is in the function.
std::vector<PlantFinding> judge(const Plant& plant, const std::string& key, double planted,
                                double in_function, double allocs = 0) {
  auto with = [](ResultSet set, double step) {
    std::map<std::string, std::vector<FunctionCost>> functions;
    for (const Measurement& measurement : set.results.measurements) {
      functions[measurement.variant.key] = {{"planted::step()", "libuser.so", step},
                                            {"other()", "libuser.so", 1000}};
    }
    set.functions = functions_from(std::move(functions));
    return set;
  };
  ResultSet base = testing::before(
      {counted(key, {{"instructions", 5000.0}, {"allocs", 2.0}, {"alloc_bytes", 64.0}})});
  ResultSet after = testing::after({counted(key, {{"instructions", 5000.0 + planted},
                                                  {"allocs", 2.0 + allocs},
                                                  {"alloc_bytes", 64.0 + 64 * allocs}})});
  CompareOptions exact;
  exact.limits.hard = *parse_limits(exact_limits());
  auto comparison = value_of(compare(with(base, 4), with(after, 4 + in_function), exact));
  return judge_plant(plant, comparison);
}

TEST(Selftest, ThePlantIsFoundInItsFunction) {
  auto findings = judge(kTen, kForward, 10, 10);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].is_found);
  EXPECT_TRUE(findings[0].is_attributed);
  // The backward pass repeats it.
  EXPECT_TRUE(judge(kTen, kBackward, 20, 20)[0].is_found);
}

TEST(Selftest, AnotherAmountIsNotThePlant) {
  EXPECT_FALSE(judge(kTen, kForward, 11, 11)[0].is_found);
  EXPECT_FALSE(judge(kTen, kBackward, 10, 10)[0].is_found);
  EXPECT_FALSE(judge(kTen, kForward, 0, 0)[0].is_found);
  EXPECT_FALSE(judge(kTen, kForward, 10, 10, 1)[0].is_found);  // an allocation that nobody planted
}

TEST(Selftest, AnotherFunctionIsNotThePlantedOne) {
  EXPECT_FALSE(judge(kTen, kForward, 10, 0)[0].is_attributed);
  EXPECT_FALSE(judge(kTen, kForward, 10, 9)[0].is_attributed);
}

TEST(Selftest, EveryDifferenceOfUnchangedRunsIsAFalseAlarm) {
  auto comparison = value_of(
      compare(testing::before({counted("a", 10), counted("b", 10), counted("c", 10), skipped("d")}),
              testing::after({counted("a", 10), counted("b", 9), failed("c"), skipped("d")})));
  auto alarms = find_false_alarms(comparison);
  std::sort(alarms.begin(), alarms.end());
  EXPECT_EQ(alarms, (std::vector<std::string>{"b", "c"}));
}

}  // namespace
}  // namespace instr::selftest_test
