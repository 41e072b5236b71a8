// States and verdicts of rows, and the order of rows.
#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "core/compare/judge.h"
#include "tests/unit/compare_testing.h"

namespace instr::compare_test {
namespace {

using namespace testing;

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
      {skip, none, RowState::kSkipped, Verdict::kPasses},
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
    ComparedRow row = make_row(expected.before, expected.after);
    EXPECT_EQ(row.state, expected.state) << to_string(expected.state);
    EXPECT_EQ(row.verdict, expected.verdict) << to_string(expected.state);
  }
}

// A measurement of a backend, timed and verified.
Measurement verified(VerificationCode code, double breaks = 0, double time = 100) {
  Counted timed;
  timed.steady = true;
  timed.timing = Timing{.values = {{kWall, {time, time + 1, time + 2, time + 3, time + 4}}}};
  timed.metrics = {{"graph_breaks", breaks}, {"compile_time", 5e9 + time}, {kPeakBytes, 400}};
  add_times(timed.metrics, *timed.timing);
  Measurement made{parse_key("k"), std::move(timed), 0};
  made.verification = Verification{code, code == VerificationCode::kPass ? "" : "why"};
  return made;
}

TEST(Compare, AResultThatWasRightAndIsWrongFails) {
  using enum VerificationCode;
  const auto row_of = [](const Measurement& before, const Measurement& after) {
    return make_row({before}, {after});
  };
  const ComparedRow worse = row_of(verified(kPass), verified(kFail));
  EXPECT_EQ(worse.state, RowState::kFailedAfter);
  EXPECT_EQ(worse.verdict, Verdict::kFails);
  EXPECT_EQ(worse.reason, "verification PASS, then FAIL: why");
  EXPECT_EQ(make_row({verified(kPass)}, {verified(kFail)}, {.allow_failed = true}).verdict,
            Verdict::kWarns);
  // Without evidence it is not right.
  EXPECT_EQ(row_of(verified(kPass), verified(kNondeterministicEagerRun)).verdict, Verdict::kFails);
  const ComparedRow better = row_of(verified(kFail), verified(kPass));
  EXPECT_EQ(better.state, RowState::kSame);
  EXPECT_EQ(better.reason, "verification FAIL, then PASS");
  EXPECT_EQ(row_of(verified(kFail), verified(kFail)).verdict, Verdict::kPasses);
  EXPECT_EQ(row_of(verified(kFail), verified(kExceptionRaised)).verdict, Verdict::kPasses);
}

// Single times, such as that of compiling, differ from run to run.
TEST(Compare, OfExperimentsFailsOnBreaksAndOnLimitsOfTimes) {
  const Measurement before = verified(VerificationCode::kPass);
  EXPECT_EQ(make_row({before}, {verified(VerificationCode::kPass, 1)}).verdict, Verdict::kFails);
  const Measurement slower = verified(VerificationCode::kPass, 0, 200);
  const ComparedRow row = make_row({before}, {slower});
  EXPECT_EQ(row.state, RowState::kSlower);  // by its wall time
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  Measurement same = before;
  std::get<Counted>(same.outcome).metrics["compile_time"] *= 2;
  EXPECT_EQ(make_row({before}, {same}).state, RowState::kSame);
  CompareOptions limited;
  limited.limits.hard = {{kWall, Limit{5, std::nullopt}},
                         {"compile_time", Limit{50, std::nullopt}}};
  EXPECT_EQ(make_row({before}, {slower}, limited).verdict, Verdict::kFails);
  EXPECT_EQ(make_row({before}, {same}, limited).verdict, Verdict::kFails);
}

TEST(Compare, EachAllowanceIsSeparate) {
  const CompareOptions strict{.allow_new = false};
  EXPECT_EQ(make_row({}, {counted("k", 1)}, strict).verdict, Verdict::kFails);
  EXPECT_EQ(make_row({failed("k")}, {counted("k", 1)}, strict).verdict, Verdict::kFails);

  const CompareOptions missing{.allow_missing = true};
  EXPECT_EQ(make_row({counted("k", 1)}, {}, missing).verdict, Verdict::kWarns);
  EXPECT_EQ(make_row({counted("k", 1)}, {skipped("k")}, missing).verdict, Verdict::kWarns);
  EXPECT_EQ(make_row({counted("k", 1)}, {failed("k")}, missing).verdict, Verdict::kFails);

  const CompareOptions broken{.allow_failed = true};
  EXPECT_EQ(make_row({counted("k", 1)}, {failed("k")}, broken).verdict, Verdict::kWarns);
  EXPECT_EQ(make_row({failed("k")}, {failed("k")}, broken).verdict, Verdict::kWarns);
  EXPECT_EQ(make_row({counted("k", 1)}, {}, broken).verdict, Verdict::kFails);
}

TEST(Compare, UnsupportedIsSkippedAndReasonsAreKept) {
  ComparedRow row = make_row({}, {failed("k", FailureKind::kUnsupported, "needs LibTorch 2")});
  EXPECT_EQ(row.state, RowState::kSkipped);
  EXPECT_EQ(row.reason, "needs LibTorch 2");
  EXPECT_EQ(make_row({counted("k", 1)}, {failed("k")}).reason, "crashed: ended by a signal");
  EXPECT_EQ(make_row({failed("k")}, {counted("k", 1)}).reason, "crashed: ended by a signal");
  EXPECT_EQ(make_row({skipped("k")}, {counted("k", 1)}).reason, "skipped before: needs CUDA");
}

TEST(Compare, EveryMetricIsComparedAndTheWorstDecides) {
  ComparedRow row = make_row({counted("k", {{"instructions", 1000}, {"allocs", 2}, {"D1mr", 7}})},
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
  row = make_row({counted("k", {{"instructions", 5}, {"allocs", 0}})},
                 {counted("k", {{"instructions", 5}, {"allocs", 1}})});
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.verdict, Verdict::kFails);
}

TEST(Compare, ARatchetFailsGainsUntilTheyAreAccepted) {
  CompareOptions options{.has_ratchet = true};
  const Measurement before = counted("k", {{"instructions", 1000}, {"allocs", 2}});
  const Measurement after = counted("k", {{"instructions", 900}, {"allocs", 2}});
  ComparedRow row = make_row({before}, {after}, options);
  EXPECT_EQ(row.state, RowState::kFaster);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(
      row.reason,
      "instructions fell by more than the limit (--ratchet): save the new count, or accept it");
  options.accepted = {{"k", "instructions", 1000, 900, "", "Ada", "no more copy"}};
  row = make_row({before}, {after}, options);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_EQ(row.reason, "instructions accepted: no more copy (Ada)");
  // A gain within the limit.
  EXPECT_EQ(
      make_row({before}, {counted("k", {{"instructions", 999}, {"allocs", 2}})}, options).verdict,
      Verdict::kPasses);
}

TEST(Compare, CountsOfZero) {
  ComparedRow row = make_row(0, 0);
  EXPECT_EQ(row.state, RowState::kSame);
  EXPECT_EQ(row.metrics[0].relative(), 0);
  row = make_row(0, 3);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.metrics[0].relative(), std::numeric_limits<double>::infinity());
  row = make_row(3, 0);
  EXPECT_EQ(row.metrics[0].relative(), -1);
  EXPECT_EQ(row.verdict, Verdict::kGain);
  // A statement that was optimised away may cost less than the empty loop.
  row = make_row(-4, -2);
  EXPECT_EQ(row.state, RowState::kSlower);
  EXPECT_EQ(row.metrics[0].relative(), 0.5);
}

TEST(Compare, ThreadsAreNotGated) {
  auto threads = [](double ir) {
    Measurement made = counted("k", ir);
    std::get<Counted>(made.outcome).gated = false;
    return made;
  };
  ComparedRow row = make_row({threads(1)}, {threads(100)});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kPasses);
  EXPECT_FALSE(row.reason.empty());
  EXPECT_EQ(row.metrics[0].change(), 99);
  // A count that is no longer gated would otherwise pass unnoticed.
  for (bool after : {true, false}) {
    row = after ? make_row({counted("k", 1)}, {threads(100)})
                : make_row({threads(1)}, {counted("k", 100)});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, after ? "not gated after" : "not gated before");
  }
  EXPECT_EQ(make_row({counted("k", 1)}, {threads(100)}, {.allow_not_comparable = true}).verdict,
            Verdict::kWarns);
}

TEST(Compare, ACountThatIsNoLongerSteadyFailsUnlessAllowed) {
  const Measurement after = unsteady("k", 1000, 1010);
  const ComparedRow row = make_row({counted("k", 1000)}, {after});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.reason, "not steady after (1,000, then 1,010)");
  EXPECT_EQ(make_row({counted("k", 1000)}, {after}, {.allow_not_comparable = true}).verdict,
            Verdict::kWarns);
}

// Two runs of the same code must not fail: such counts differ by chance.
TEST(Compare, ACountThatWasNotSteadyBeforeIsNeverGated) {
  for (const Measurement& after :
       {counted("k", 1010), unsteady("k", 1001, 1000), unsteady("k", 1500, 1490)}) {
    const ComparedRow row = make_row({unsteady("k", 1001, 1000)}, {after});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kPasses);
    EXPECT_EQ(row.reason, "not steady before (1,001, then 1,000)");
  }
}

TEST(Compare, AMissingMetricFails) {
  auto with = counted("k", {{"instructions", 10}, {"allocs", 1}});
  auto without = counted("k", {{"instructions", 10}});
  ComparedRow row = make_row({with}, {without});
  EXPECT_EQ(row.state, RowState::kNotComparable);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.reason, "no allocs after");
  EXPECT_EQ(make_row({with}, {without}, {.allow_not_comparable = true}).verdict, Verdict::kWarns);
  // A newly requested one has no baseline, which does not affect the others.
  row = make_row({without}, {with});
  EXPECT_EQ(row.state, RowState::kSame);
  EXPECT_EQ(row.verdict, Verdict::kWarns);
  EXPECT_EQ(row.reason, "no allocs before, in any row");
  row = make_row({without}, {counted("k", {{"instructions", 20}, {"allocs", 1}})});
  EXPECT_EQ(row.verdict, Verdict::kFails);
  // Without instructions on one side there is nothing to compare; without a limit nothing fails.
  EXPECT_EQ(make_row({counted("k", {{"allocs", 1}})}, {with}).state, RowState::kNotComparable);
  EXPECT_EQ(make_row({counted("k", {{"instructions", 10}, {"Bc", 1}})}, {without}).state,
            RowState::kSame);
  auto empty = counted("k", std::map<std::string, double>{});
  EXPECT_EQ(make_row({empty}, {empty}).verdict, Verdict::kFails);
  EXPECT_EQ(make_row(10, std::numeric_limits<double>::quiet_NaN()).verdict, Verdict::kFails);
}

// Metrics that other rows of the base have were requested there.
TEST(Compare, AMetricLostBeforeFails) {
  auto with = counted("k", {{"instructions", 10}, {"allocs", 1}});
  auto comparison = compare(before({counted("k", {{"instructions", 10}}), counted("other", 10)}),
                            after({with, counted("other", 10)}));
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->rows[0].state, RowState::kNotComparable);
  EXPECT_EQ(comparison->rows[0].verdict, Verdict::kFails);
  EXPECT_EQ(comparison->rows[0].reason, "no allocs before");
}

TEST(Compare, AnInvalidMetricFailsWithItsPlace) {
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
    ComparedRow row = make_row({whole}, {lost(metric)});
    EXPECT_EQ(row.state, RowState::kNotComparable);
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, reason + " after (r.jsonl:7: it is null)");
    row = make_row({lost(metric)}, {whole});
    EXPECT_EQ(row.verdict, Verdict::kFails);
    EXPECT_EQ(row.reason, reason + " before (r.jsonl:7: it is null)");
    EXPECT_EQ(make_row({lost(metric)}, {lost(metric)}).verdict, Verdict::kFails);
    EXPECT_EQ(make_row({lost(metric)}, {whole}, {.allow_not_comparable = true}).verdict,
              Verdict::kWarns);
  }
}

TEST(Compare, TwoMeasurementsOfAKeyAreAnError) {
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
    auto comparison = value_of(compare(before(measurements), after(measurements)));
    EXPECT_EQ(comparison.verdict, Verdict::kFails);
    EXPECT_EQ(comparison.problems.size(), 1U);
  }
  EXPECT_EQ(
      compare(before({skipped("a")}), after({skipped("a")}), {.allow_nothing = true})->verdict,
      Verdict::kWarns);
}

std::vector<std::string> keys_of(const Comparison& comparison) {
  std::vector<std::string> keys;
  for (const ComparedRow& row : comparison.rows) keys.push_back(row.key);
  return keys;
}

TEST(Compare, TheMostImportantRowsComeFirst) {
  auto comparison = value_of(compare(
      before({counted("same", 1), counted("little", 1e6), counted("much", 1000),
              counted("gain", 1000), counted("warn", 10000), counted("gone", 1),
              counted("drop", 10000), failed("repaired"), counted("zero", 0),
              counted("broken", 1)}),
      after({counted("same", 1), counted("little", 1e6 + 9000), counted("much", 2000),
             counted("gain", 500), counted("warn", 10030), counted("new", 1), counted("drop", 9999),
             counted("repaired", 1), counted("zero", 1), failed("broken")})));
  EXPECT_EQ(keys_of(comparison),
            (std::vector<std::string>{"zero", "much", "little", "broken", "gone", "warn", "gain",
                                      "drop", "new", "repaired", "same"}));
  const ComparisonSummary& summary = comparison.summary;
  EXPECT_EQ(summary.count(RowState::kSlower), 4U);
  EXPECT_EQ(summary.count(RowState::kFaster), 2U);
  EXPECT_EQ(summary.count(RowState::kSkipped), 0U);
  EXPECT_EQ(summary.count(Verdict::kFails), 5U);
  EXPECT_EQ(summary.comparable, 7U);
  EXPECT_EQ(summary.ratio_rows, 6U);  // there is no ratio to 0
}

TEST(Compare, TheRatioIsTheGeometricMean) {
  auto comparison = compare(before({counted("a", 100), counted("b", 100), counted("c", 7)}),
                            after({counted("a", 200), counted("b", 50), counted("c", 7)}));
  EXPECT_NEAR(*comparison->summary.ratio, 1, 1e-15);
  comparison = compare(before({counted("a", 100), counted("b", 100)}),
                       after({counted("a", 400), counted("b", 100)}));
  EXPECT_NEAR(*comparison->summary.ratio, 2, 1e-12);
  EXPECT_FALSE(compare(before({counted("a", 0)}), after({counted("a", 0)}))->summary.ratio);
}

// --- Sequences ---

constexpr const char* kKey = "a/eager/forward/t1/cpu";

// A measurement of instructions and, with their repetitions, wall times.
Measurement measure(double ir, const std::vector<double>& times) {
  Measurement measurement = counted(kKey, ir);
  auto& counts = std::get<Counted>(measurement.outcome);
  counts.timing = Timing{.values = {{kWall, times}}};
  counts.metrics[kWall] = median(times);
  return measurement;
}

std::vector<double> make_times(std::mt19937& random, double level) {
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) times.push_back(level + static_cast<double>(random() % 100) / 25);
  return times;
}

const SequenceChange* find_at(const std::vector<SequenceChange>& changes, std::size_t at) {
  const auto change = std::ranges::find(changes, at, &SequenceChange::at);
  return change == changes.end() ? nullptr : &*change;
}

void expect_same(const MetricChange& metric, const SequenceChange* change) {
  EXPECT_EQ(change != nullptr, *metric.change() != 0);
  if (change == nullptr) return;
  ASSERT_EQ(change->change.speedup.has_value(), metric.speedup.has_value());
  EXPECT_EQ(change->change.verdict, metric.verdict);
  EXPECT_EQ(change->change.accepted, metric.accepted);
  EXPECT_EQ(change->change.change(), metric.change());
  EXPECT_EQ(change->change.speedup.value_or(Speedup()).p, metric.speedup.value_or(Speedup()).p);
}

TEST(Judge, GivesASequenceTheVerdictsOfCompare) {
  std::mt19937 random(7);
  CompareOptions options;
  options.limits.hard[kWall] = Limit{2, std::nullopt};
  options.limits.soft[kWall] = Limit{1, std::nullopt};
  std::vector<double> counts;
  std::vector<std::vector<double>> times;
  for (int i = 0; i < 200; ++i) {
    counts.push_back(100'000 + static_cast<double>(random() % 10) * 100);
    times.push_back(make_times(random, 100 + static_cast<double>(random() % 4)));
  }
  options.accepted = {{"a/*", kInstructions, counts[0], counts[1], "", "Ada", "why"}};
  std::vector<SequenceValue> exact;
  std::vector<SequenceValue> sampled;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    exact.push_back({counts[i], &options.limits, {}});
    sampled.push_back({median(times[i]), &options.limits, times[i]});
  }
  const auto changes = compare_sequence({kKey, kInstructions}, exact, options.accepted);
  const auto slower = compare_sequence({kKey, kWall, false}, sampled, options.accepted);
  std::set<Verdict> verdicts;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const ComparedRow row =
        make_row({measure(counts[i - 1], times[i - 1])}, {measure(counts[i], times[i])}, options);
    expect_same(*row.metric(kInstructions), find_at(changes, i));
    expect_same(*row.metric(kWall), find_at(slower, i));
    verdicts.insert(row.metric(kWall)->verdict);
  }
  EXPECT_EQ(verdicts.size(), 4u);
}

TEST(Judge, TakesARegressionBackThatWasUndone) {
  const Limits limits = default_limits();
  const auto regressions = [&](std::initializer_list<double> counts) {
    std::vector<SequenceValue> values;
    for (const double count : counts) values.push_back({count, &limits, {}});
    std::vector<std::size_t> places;
    for (const auto& change : compare_sequence({kKey, kInstructions}, values, {})) {
      if (change.is_regression) places.push_back(change.at);
    }
    return places;
  };
  EXPECT_EQ(regressions({1000, 1006}), (std::vector<std::size_t>{1}));
  EXPECT_EQ(regressions({1000, 1005}), (std::vector<std::size_t>{}));
  EXPECT_EQ(regressions({1000, 1100, 1005}), (std::vector<std::size_t>{}));
  EXPECT_EQ(regressions({1000, 1100, 1006}), (std::vector<std::size_t>{1}));
  EXPECT_EQ(regressions({1000, 1004, 1008}), (std::vector<std::size_t>{}));
}

// Without repetitions chance is unknown: such a value changed if it is beyond its limit.
TEST(Judge, ValuesWithoutRepetitionsChangeBeyondTheirLimit) {
  Limits limits;
  limits.hard["data_reads"] = Limit{1, std::nullopt};
  const auto count = [&](const std::string& key, const std::string& metric) {
    const std::vector<SequenceValue> values{
        {1000, &limits, {}}, {1009, &limits, {}}, {1030, &limits, {}}, {900, &limits, {}}};
    return compare_sequence({key, metric, false}, values, {}).size();
  };
  EXPECT_EQ(count(kKey, "data_reads"), 2u);
  EXPECT_EQ(count(kKey, "data_writes"), 0u);
  EXPECT_EQ(count("a/eager/forward/t2/cpu", "data_reads"), 0u);  // not gated
  limits = default_limits();
  EXPECT_EQ(count(kKey, kInstructions), 0u);  // not steady
}

}  // namespace
}  // namespace instr::compare_test
