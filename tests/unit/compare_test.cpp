#include "core/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/results/result_set.h"
#include "tests/testing.h"

namespace instr::compare_test {
namespace {

using namespace testing;

// The row of a comparison that has one; its two measurements have the key "k".
ComparedRow row_of(std::vector<Measurement> first, std::vector<Measurement> second,
                   const CompareOptions& options = {}) {
  auto comparison = compare(before(std::move(first)), after(std::move(second)), options);
  EXPECT_TRUE(comparison && comparison->rows.size() == 1);
  return comparison && !comparison->rows.empty() ? comparison->rows.front() : ComparedRow{};
}

// With that limit of its instructions; "": no limit of its own.
Measurement limited(const std::string& key, double ir, const std::string& limit) {
  Measurement measurement = counted(key, ir);
  if (!limit.empty()) measurement.variant.limits["instructions"] = limit;
  return measurement;
}

ComparedRow row_of(double first, double second, const CompareOptions& options = {}) {
  return row_of({counted("k", first)}, {counted("k", second)}, options);
}

struct Expectation {
  std::vector<Measurement> before;
  std::vector<Measurement> after;
  RowState state;
  Verdict verdict;
};

TEST(Compare, EveryPairOfOutcomesHasItsState) {
  const std::vector<Measurement> none;
  const std::vector<Measurement> count{counted("k", 100)};
  const std::vector<Measurement> skip{skipped("k")};
  const std::vector<Measurement> bad{failed("k")};
  const std::vector<Expectation> table{
      {count, count, RowState::kSame, Verdict::kPasses},
      {none, count, RowState::kNew, Verdict::kPasses},
      {skip, count, RowState::kNew, Verdict::kPasses},
      {bad, count, RowState::kFailedBefore, Verdict::kPasses},
      {count, none, RowState::kMissing, Verdict::kFails},
      {skip, none, RowState::kMissing, Verdict::kFails},
      {bad, none, RowState::kMissing, Verdict::kFails},
      {count, bad, RowState::kFailedAfter, Verdict::kFails},
      {none, bad, RowState::kFailedAfter, Verdict::kFails},
      {skip, bad, RowState::kFailedAfter, Verdict::kFails},
      {bad, bad, RowState::kFailedBoth, Verdict::kFails},
      {count, skip, RowState::kSkipped, Verdict::kFails},
      {skip, skip, RowState::kSkipped, Verdict::kPasses},
      {none, skip, RowState::kSkipped, Verdict::kPasses},
      {bad, skip, RowState::kSkipped, Verdict::kPasses},
  };
  for (const Expectation& expected : table) {
    ComparedRow row = row_of(expected.before, expected.after);
    EXPECT_EQ(row.state, expected.state) << to_string(expected.state);
    EXPECT_EQ(row.verdict, expected.verdict) << to_string(expected.state);
  }
}

TEST(Compare, AllowancesAreNamedOneByOne) {
  CompareOptions strict;
  strict.allow_new = false;
  EXPECT_EQ(row_of({}, {counted("k", 1)}, strict).verdict, Verdict::kFails);
  EXPECT_EQ(row_of({failed("k")}, {counted("k", 1)}, strict).verdict, Verdict::kFails);

  CompareOptions missing;
  missing.allow_missing = true;
  EXPECT_EQ(row_of({counted("k", 1)}, {}, missing).verdict, Verdict::kWarns);
  EXPECT_EQ(row_of({counted("k", 1)}, {skipped("k")}, missing).verdict, Verdict::kWarns);
  EXPECT_EQ(row_of({counted("k", 1)}, {failed("k")}, missing).verdict, Verdict::kFails);

  CompareOptions broken;
  broken.allow_failed = true;
  EXPECT_EQ(row_of({counted("k", 1)}, {failed("k")}, broken).verdict, Verdict::kWarns);
  EXPECT_EQ(row_of({failed("k")}, {failed("k")}, broken).verdict, Verdict::kWarns);
  EXPECT_EQ(row_of({counted("k", 1)}, {}, broken).verdict, Verdict::kFails);
}

TEST(Compare, UnsupportedIsSkippedAndReasonsAreKept) {
  ComparedRow row = row_of({}, {failed("k", FailureKind::kUnsupported, "needs LibTorch 2")});
  EXPECT_EQ(row.state, RowState::kSkipped);
  EXPECT_EQ(row.reason, "needs LibTorch 2");
  EXPECT_EQ(row_of({counted("k", 1)}, {failed("k")}).reason, "crashed: ended by a signal");
  EXPECT_EQ(row_of({failed("k")}, {counted("k", 1)}).reason, "crashed: ended by a signal");
  EXPECT_EQ(row_of({skipped("k")}, {counted("k", 1)}).reason, "skipped before: needs CUDA");
}

TEST(Compare, LimitsDecide) {
  EXPECT_EQ(row_of(1000, 1005).verdict, Verdict::kWarns);  // just at 0.5%
  EXPECT_EQ(row_of(1000, 1006).verdict, Verdict::kFails);
  EXPECT_EQ(row_of(1000, 1001).verdict, Verdict::kPasses);  // just at 0.1%
  EXPECT_EQ(row_of(1000, 1001).state, RowState::kSlower);   // and shown all the same
  EXPECT_EQ(row_of(1000, 995).verdict, Verdict::kPasses);
  EXPECT_EQ(row_of(1000, 994).verdict, Verdict::kGain);
  EXPECT_EQ(row_of(1000, 994).state, RowState::kFaster);
  CompareOptions options;
  options.limits.hard["instructions"] = Limit{1.0, 50};
  options.limits.soft.clear();
  EXPECT_EQ(row_of(1000, 1050, options).verdict, Verdict::kPasses);
  EXPECT_EQ(row_of(1000, 1051, options).verdict, Verdict::kFails);
  options.limits.hard.erase("instructions");
  EXPECT_EQ(row_of(1000, 9000, options).verdict, Verdict::kPasses);
}

TEST(Compare, APercentageReachedExactlyIsWithinIt) {
  CompareOptions options;
  options.limits.soft.clear();
  for (int percent = 1; percent < 100; ++percent) {
    options.limits.hard["instructions"] = Limit{percent / 10.0, std::nullopt};
    EXPECT_EQ(row_of(1000, 1000 + percent, options).verdict, Verdict::kPasses) << percent;
    EXPECT_EQ(row_of(1000, 1001 + percent, options).verdict, Verdict::kFails) << percent;
  }
}

TEST(Compare, TheMostSpecificLimitApplies) {
  Measurement then = limited("k", 1000, "20%");
  Measurement now = limited("k", 1100, "20%");
  CompareOptions options;
  options.limits.soft.clear();
  EXPECT_EQ(row_of({then}, {now}, options).verdict, Verdict::kPasses);
  options.by_key["k"].hard["instructions"] = Limit{std::nullopt, 5};
  EXPECT_EQ(row_of({then}, {now}, options).verdict, Verdict::kFails);
  options.by_key.clear();
  options.by_key["other"].hard["instructions"] = Limit{std::nullopt, 5};
  EXPECT_EQ(row_of({then}, {now}, options).verdict, Verdict::kPasses);
}

TEST(Compare, AChangeCannotLoosenItsOwnLimit) {
  CompareOptions options;
  options.limits.soft.clear();
  // The limit of the definition at the base applies or, if it had none, the general one.
  for (auto [base, head] : {std::pair{"", "none"}, {"", "50%"}, {"5%", "none"}, {"5%", "50%"}}) {
    auto comparison =
        compare(before({limited("k", 1000, base)}), after({limited("k", 1100, head)}), options);
    ASSERT_TRUE(comparison);
    EXPECT_EQ(comparison->verdict, Verdict::kFails) << base << " " << head;
    ASSERT_EQ(comparison->problems.size(), 1U);
    std::string was = *base == '\0' ? "0.5%" : base;
    EXPECT_EQ(comparison->problems[0], "the limit of instructions is changed from " + was + " to " +
                                           head + " (" + was + " holds), for 1 benchmark: k");
  }
  // A tighter one also waits for its base, and a removed one applies until then.
  EXPECT_EQ(row_of({limited("k", 1000, "20%")}, {limited("k", 1100, "1%")}, options).verdict,
            Verdict::kPasses);
  EXPECT_EQ(row_of({limited("k", 1000, "20%")}, {limited("k", 1100, "")}, options).verdict,
            Verdict::kPasses);
  // A new key has no base; the limits of missing keys have no effect.
  EXPECT_TRUE(row_of({}, {limited("k", 1100, "none")}).limit_changes.empty());
  EXPECT_TRUE(row_of({limited("k", 1100, "none")}, {}).limit_changes.empty());
  // A failure at the base still has limits.
  Measurement broken = failed("k");
  broken.variant.limits["instructions"] = "5%";
  EXPECT_EQ(row_of({broken}, {limited("k", 1, "none")}).limit_changes.size(), 1U);
  // Expected counts do not come from a run: the limits are those of the measurements.
  options.base_has_limits = false;
  EXPECT_EQ(row_of({counted("k", 1000)}, {limited("k", 1100, "20%")}, options).verdict,
            Verdict::kPasses);
}

TEST(Compare, TheLimitsFileOfTheBaseApplies) {
  CompareOptions options;
  options.by_key["k"].hard["instructions"] = Limit{};
  options.by_key["k"].soft["allocs"] = Limit{1.0, 2};
  EXPECT_TRUE(row_of(1000, 2000, options).limit_changes.empty());
  options.by_key_before.emplace();
  ComparedRow row = row_of(1000, 2000, options);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  ASSERT_EQ(row.limit_changes.size(), 2U);
  EXPECT_EQ(row.limit_changes[0],
            (LimitChange{"instructions", false, Limit{0.5, std::nullopt}, {}}));
  EXPECT_EQ(row.limit_changes[1], (LimitChange{"allocs", true, {}, Limit{1.0, 2}}));
  // A key that is new has no limits of a base.
  EXPECT_EQ(row_of({}, {counted("k", 5)}, options).metric("instructions")->hard, std::nullopt);
}

TEST(Compare, AChangedLimitIsOneLineHoweverManyHaveIt) {
  std::vector<Measurement> first, second;
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    first.push_back(counted(key, 10));
    second.push_back(limited(key, 10, "1%|+5"));
  }
  auto comparison = compare(before(first), after(second));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->verdict, Verdict::kWarns);
  EXPECT_EQ(comparison->problems,
            (std::vector<std::string>{
                "the limit of instructions is changed from 0.5% to 1%|+5 (0.5% holds), "
                "for 5 benchmarks: a, b, c and 2 more"}));
}

TEST(Compare, NoneDisablesALimit) {
  CompareOptions options;
  options.by_key["k"].hard["instructions"] = Limit{};
  options.by_key["k"].soft["instructions"] = Limit{};
  ComparedRow row = row_of({counted("k", 1000)}, {counted("k", 9000)}, options);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.metric("instructions")->hard, std::nullopt);
  EXPECT_EQ(row_of({counted("k", 9000)}, {counted("k", 1000)}, options).verdict, Verdict::kPasses);
  // Nor is a metric that one side lacks.
  row = row_of({counted("k", {{"instructions", 5}, {"allocs", 1}})},
               {counted("k", {{"allocs", 1}})}, options);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_EQ(row.state, RowState::kSame);
}

TEST(Compare, AMalformedLimitInTheResultsIsAnError) {
  Measurement edited = counted("matmul/mm", 1);
  edited.variant.limits["instructions"] = "lots";
  auto comparison = compare(before({edited}), after({edited}));
  ASSERT_FALSE(comparison);
  EXPECT_HAS(comparison.error().what, "`matmul/mm`");
  EXPECT_HAS(comparison.error().what, "`lots`");
}

TEST(Compare, EveryMetricIsComparedAndTheWorstDecides) {
  ComparedRow row = row_of({counted("k", {{"instructions", 1000}, {"allocs", 2}, {"D1mr", 7}})},
                           {counted("k", {{"instructions", 900}, {"allocs", 3}, {"D1mr", 9}})});
  EXPECT_EQ(row.state, RowState::kFaster);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  ASSERT_EQ(row.metrics.size(), 3U);
  EXPECT_EQ(row.metrics[0].metric, "instructions");
  EXPECT_EQ(row.metrics[0].verdict, Verdict::kGain);
  EXPECT_EQ(row.metrics[1].verdict, Verdict::kFails);
  EXPECT_EQ(row.metrics[2].metric, "D1mr");
  EXPECT_EQ(row.metrics[2].change(), 2);
  EXPECT_EQ(row.metrics[2].verdict, Verdict::kPasses);
  // Equal instructions, one allocation more: not the same.
  row = row_of({counted("k", {{"instructions", 5}, {"allocs", 0}})},
               {counted("k", {{"instructions", 5}, {"allocs", 1}})});
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.verdict, Verdict::kFails);
}

TEST(Compare, CountsOfZero) {
  ComparedRow row = row_of(0, 0);
  EXPECT_EQ(row.state, RowState::kSame);
  EXPECT_EQ(row.metrics[0].relative(), 0);
  row = row_of(0, 3);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.metrics[0].relative(), std::numeric_limits<double>::infinity());
  row = row_of(3, 0);
  EXPECT_EQ(row.metrics[0].relative(), -1);
  EXPECT_EQ(row.verdict, Verdict::kGain);
  // A statement that was optimised away may cost less than the empty loop.
  row = row_of(-4, -2);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.metrics[0].relative(), 0.5);
}

TEST(Compare, ThreadsAreNotGated) {
  auto threads = [](double ir) {
    Measurement made = counted("k", ir);
    std::get<Counted>(made.outcome).gated = false;
    return made;
  };
  ComparedRow row = row_of({threads(1)}, {threads(100)});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_FALSE(row.reason.empty());
  EXPECT_EQ(row.metrics[0].change(), 99);
  // A count that is no longer gated would otherwise pass unnoticed.
  for (bool after : {true, false}) {
    row = after ? row_of({counted("k", 1)}, {threads(100)})
                : row_of({threads(1)}, {counted("k", 100)});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, after ? "not gated after" : "not gated before");
  }
  CompareOptions allow;
  allow.allow_not_comparable = true;
  EXPECT_EQ(row_of({counted("k", 1)}, {threads(100)}, allow).verdict, Verdict::kWarns);
}

TEST(Compare, ACountThatIsNoLongerSteadyFailsUnlessAllowed) {
  CompareOptions allow;
  allow.allow_not_comparable = true;
  const Measurement after = unsteady("k", 1000, 1010);
  const ComparedRow row = row_of({counted("k", 1000)}, {after});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.reason, "not steady after (1,000, then 1,010)");
  EXPECT_EQ(row_of({counted("k", 1000)}, {after}, allow).verdict, Verdict::kWarns);
}

// Two runs of the same code must not fail: such counts differ by chance.
TEST(Compare, WhatWasNotSteadyBeforeIsNeverGated) {
  for (const Measurement& after :
       {counted("k", 1010), unsteady("k", 1001, 1000), unsteady("k", 1500, 1490)}) {
    const ComparedRow row = row_of({unsteady("k", 1001, 1000)}, {after});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kPasses);
    EXPECT_EQ(row.reason, "not steady before (1,001, then 1,000)");
  }
}

TEST(Compare, AMissingMetricFails) {
  auto both = counted("k", {{"instructions", 10}, {"allocs", 1}});
  auto one = counted("k", {{"instructions", 10}});
  ComparedRow row = row_of({both}, {one});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.reason, "no allocs after");
  CompareOptions allow;
  allow.allow_not_comparable = true;
  EXPECT_EQ(row_of({both}, {one}, allow).verdict, Verdict::kWarns);
  // A newly requested one has no baseline, which does not affect the others.
  row = row_of({one}, {both});
  EXPECT_EQ(row.state, RowState::kSame);
  EXPECT_EQ(row.verdict, Verdict::kWarns);
  EXPECT_EQ(row.reason, "no allocs before, in any row");
  row = row_of({one}, {counted("k", {{"instructions", 20}, {"allocs", 1}})});
  EXPECT_EQ(row.verdict, Verdict::kFails);
  // Without instructions on one side there is nothing to compare; without a limit nothing fails.
  EXPECT_EQ(row_of({counted("k", {{"allocs", 1}})}, {both}).state, RowState::kNotComparable);
  EXPECT_EQ(row_of({counted("k", {{"instructions", 10}, {"Bc", 1}})}, {one}).state,
            RowState::kSame);
  auto empty = counted("k", std::map<std::string, double>{});
  EXPECT_EQ(row_of({empty}, {empty}).verdict, Verdict::kFails);
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(row_of(10, nan).verdict, Verdict::kFails);
}

// Metrics that other rows of the base have were requested there.
TEST(Compare, AMetricLostBeforeFails) {
  auto both = counted("k", {{"instructions", 10}, {"allocs", 1}});
  auto comparison = compare(before({counted("k", {{"instructions", 10}}), counted("other", 10)}),
                            after({both, counted("other", 10)}));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->rows[0].state, RowState::kNotComparable);
  EXPECT_EQ(comparison->rows[0].verdict, Verdict::kFails);
  EXPECT_EQ(comparison->rows[0].reason, "no allocs before");
}

TEST(Compare, AnInvalidMetricIsLostAndSaysWhere) {
  auto lost = [](const char* metric) {
    Measurement made = counted("k", {{"instructions", 10}, {"Bc", 2}});
    auto& outcome = std::get<Counted>(made.outcome);
    outcome.metrics.erase(metric);
    outcome.lost[metric] = "r.jsonl:7: it is null";
    return made;
  };
  auto whole = counted("k", {{"instructions", 10}, {"Bc", 2}});
  for (const char* metric : {"instructions", "Bc"}) {  // with a limit and without
    std::string reason = std::string("no ") + metric;
    ComparedRow row = row_of({whole}, {lost(metric)});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, reason + " after (r.jsonl:7: it is null)");
    row = row_of({lost(metric)}, {whole});
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, reason + " before (r.jsonl:7: it is null)");
    EXPECT_EQ(row_of({lost(metric)}, {lost(metric)}).verdict, Verdict::kFails);
    CompareOptions allow;
    allow.allow_not_comparable = true;
    EXPECT_EQ(row_of({lost(metric)}, {whole}, allow).verdict, Verdict::kWarns);
  }
}

TEST(Compare, TwoMeasurementsOfOneKeyAreAnErrorThatNamesIt) {
  auto twice =
      compare(before({counted("a", 1), counted("a\nb", 1), counted("a\nb", 1)}), after({}));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().what, "the baseline: two measurements of `a b`");
  twice = compare(before({}), after({counted("a", 1), failed("a")}));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().what, "the new results: two measurements of `a`");
}

TEST(Compare, NothingToCompareNeverPasses) {
  for (const auto& measurements : {std::vector<Measurement>{}, {skipped("a")}, {failed("a")}}) {
    auto comparison = compare(before(measurements), after(measurements));
    ASSERT_TRUE(comparison);
    EXPECT_EQ(comparison->verdict, Verdict::kFails);
    EXPECT_EQ(comparison->problems.size(), 1U);
  }
  CompareOptions allow;
  allow.allow_nothing = true;
  EXPECT_EQ(compare(before({skipped("a")}), after({skipped("a")}), allow)->verdict,
            Verdict::kWarns);
}

std::vector<std::string> keys_of(const Comparison& comparison) {
  std::vector<std::string> keys;
  for (const ComparedRow& row : comparison.rows) keys.push_back(row.key);
  return keys;
}

TEST(Compare, TheMostImportantRowsComeFirst) {
  auto comparison = compare(
      before({counted("same", 1), counted("little", 1e6), counted("much", 1000),
              counted("gain", 1000), counted("warn", 10000), counted("gone", 1),
              counted("drop", 10000), failed("repaired"), counted("zero", 0),
              counted("broken", 1)}),
      after({counted("same", 1), counted("little", 1e6 + 9000), counted("much", 2000),
             counted("gain", 500), counted("warn", 10030), counted("new", 1), counted("drop", 9999),
             counted("repaired", 1), counted("zero", 1), failed("broken")}));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(keys_of(*comparison),
            (std::vector<std::string>{"zero", "much", "little", "broken", "gone", "warn", "gain",
                                      "drop", "new", "repaired", "same"}));
  const ComparisonSummary& summary = comparison->summary;
  EXPECT_EQ(summary.count(RowState::kSlower), 4U);
  EXPECT_EQ(summary.count(RowState::kFaster), 2U);
  EXPECT_EQ(summary.count(RowState::kSkipped), 0U);
  EXPECT_EQ(summary.count(Verdict::kFails), 5U);
  EXPECT_EQ(summary.comparable, 7U);
  EXPECT_EQ(summary.ratio_rows, 6U);  // there is no ratio to 0
}

TEST(Compare, TheGeometricMeanIsOfTheRatios) {
  auto comparison = compare(before({counted("a", 100), counted("b", 100), counted("c", 7)}),
                            after({counted("a", 200), counted("b", 50), counted("c", 7)}));
  EXPECT_NEAR(*comparison->summary.ratio, 1, 1e-15);
  comparison = compare(before({counted("a", 100), counted("b", 100)}),
                       after({counted("a", 400), counted("b", 100)}));
  EXPECT_NEAR(*comparison->summary.ratio, 2, 1e-12);
  EXPECT_FALSE(compare(before({counted("a", 0)}), after({counted("a", 0)}))->summary.ratio);
}

TEST(Compare, OnlyChangedRowsAreAttributed) {
  ResultSet first = before({counted("a", 100), counted("b", 100), counted("c", 100)});
  ResultSet second = after({counted("a", 120), counted("b", 100), counted("c", 130)});
  first.functions = functions_from({{"a", {{"f", "x.so", 100}}}, {"b", {{"f", "x.so", 100}}}});
  std::vector<std::string> requested;
  second.functions = [&](const std::string& key) {
    requested.push_back(key);
    return std::vector<FunctionCost>{{"f", "x.so", 110}, {"g", "x.so", 10}};
  };
  auto comparison = compare(first, second);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(requested, (std::vector<std::string>{"c", "a"}));  // most important first
  EXPECT_FALSE(comparison->rows[0].attribution);               // "c" has none before
  EXPECT_EQ(comparison->rows[1].key, "a");
  ASSERT_TRUE(comparison->rows[1].attribution);
  EXPECT_EQ(comparison->rows[1].attribution->parts.size(), 2U);
}

TEST(Compare, TheMetricThatFailsIsAttributed) {
  const std::string cycles = "estimated_cycles";
  ResultSet first = before({counted("a", {{"instructions", 10000}, {cycles, 900}})});
  ResultSet second = after({counted("a", {{"instructions", 10001}, {cycles, 1250}})});
  auto functions = [](double misses) {
    return functions_from({{"a",
                            {{"f", "x.so", 60, 1, {{"Dr", 20}, {"D1mr", misses}}},
                             {"g", "x.so", 40, 1, {{"Dw", 5}}}}}});
  };
  first.functions = functions(2);
  second.functions = functions(52);
  CompareOptions options;
  options.limits.hard[cycles] = Limit{1.0, std::nullopt};
  auto comparison = compare(first, second, options);
  ASSERT_TRUE(comparison);
  const auto& attribution = comparison->rows[0].attribution;
  ASSERT_TRUE(attribution);
  EXPECT_EQ(attribution->metric, cycles);
  EXPECT_EQ(attribution->difference, 350);
  ASSERT_EQ(attribution->parts.size(), 1U);
  EXPECT_EQ(attribution->parts[0].function, "f");
  EXPECT_EQ(attribution->parts[0].change, 200);  // 50 misses at 5 cycles less the 1 of a hit
  EXPECT_EQ(attribution->unexplained, 150);
  // If one side was not simulated, there are only the instructions.
  first.functions = functions_from({{"a", {{"f", "x.so", 60, 1}, {"g", "x.so", 40, 1}}}});
  EXPECT_EQ(compare(first, second, options)->rows[0].attribution->metric, "instructions");
}

TEST(Compare, TheMostImportantRowsAreAttributed) {
  std::vector<Measurement> first;
  std::vector<Measurement> second;
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (int i = 0; i < 9; ++i) {
    std::string key(1, static_cast<char>('a' + i));
    first.push_back(counted(key, 100));
    second.push_back(counted(key, 110 + i));
    if (i != 7) functions[key] = {{"f", "x.so", 100}};
  }
  ResultSet left = before(first);
  ResultSet right = after(second);
  left.functions = right.functions = functions_from(functions);
  CompareOptions options;
  options.max_attributions = 3;
  auto comparison = compare(left, right, options);
  ASSERT_TRUE(comparison);
  std::string attributed;
  for (const ComparedRow& row : comparison->rows) {
    if (row.attribution) attributed += row.key;
  }
  EXPECT_EQ(attributed, "igf");
  EXPECT_EQ(comparison->not_attributed, 5U);  // a to e; "h" has no functions
}

TEST(Compare, UnreadableFunctionsAreAnErrorIfNeeded) {
  ResultSet first = before({counted("a", 100)});
  ResultSet second = after({counted("a", 120)});
  first.functions = functions_from({{"a", {{"f", "x.so", 100}}}});
  second.functions = [](const std::string&) { return fail("damaged"); };
  auto comparison = compare(first, second);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().what, "damaged");
  second.results = first.results;
  EXPECT_TRUE(compare(first, second));
}

}  // namespace
}  // namespace instr::compare_test
