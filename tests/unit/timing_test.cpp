// Times through all the pure stages: from a worker's reply to results, reports and comparisons.
#include "core/results/timing.h"

#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/compare/compare.h"
#include "core/measure/parse_reply.h"
#include "core/report/comparison_report.h"
#include "core/report/run_report.h"
#include "core/report/run_table.h"
#include "core/results/results_file.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::timing_test {
namespace {

using namespace testing;

using Values = std::vector<double>;

TEST(Timing, MedianAndQuartiles) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(quartiles({5, 3, 1, 2, 4}), (Quartiles{2, 4}));
  EXPECT_FALSE(quartiles({1, 2, 3}));
}

TEST(Timing, MetricsAreMediansAndMinima) {
  std::map<std::string, double> metrics;
  Timing timing{{{kWall, {3, 1, 2}}, {kCpu, {1, 1, 7}}, {"hw_cycles", {30, 20, 25}}}, 1000};
  add_times(metrics, timing);
  EXPECT_EQ(metrics, (std::map<std::string, double>{{"wall", 2}, {"cpu", 1}, {"hw_cycles", 20}}));
  timing.device_peak_bytes = 4096;
  add_times(metrics, timing);
  EXPECT_EQ(metrics["device_peak_bytes"], 4096);
}

// The least of the repetitions is beyond the limit, but chance explains the difference of all.
TEST(Timing, CountersAreComparedAsTimesAre) {
  const auto counted = [](Values values) {
    Measurement measurement = timed("a", {1, 1, 1, 1});
    auto& outcome = std::get<Counted>(measurement.outcome);
    outcome.timing->values["hw_instructions"] = std::move(values);
    add_times(outcome.metrics, *outcome.timing);
    return measurement;
  };
  const auto verdict = [&](Values before, Values after) {
    return compare(testing::before({counted(std::move(before))}),
                   testing::after({counted(std::move(after))}), {})
        ->verdict;
  };
  EXPECT_EQ(verdict({1000, 1001, 1000, 1002}, {1020, 1021, 1020, 1022}), Verdict::kFails);
  EXPECT_EQ(verdict({1000, 1001, 1000, 1002}, {1005, 1006, 1005, 1007}), Verdict::kPasses);
  EXPECT_EQ(verdict({1000, 1200, 1300, 1100}, {1020, 1201, 1250, 1150}), Verdict::kPasses);
}

TEST(Timing, TimesForPeople) {
  EXPECT_EQ(format_time(0), "0.00 ns");
  EXPECT_EQ(format_time(3.214), "3.21 ns");
  EXPECT_EQ(format_time(12.34), "12.3 ns");
  EXPECT_EQ(format_time(999.4), "999 ns");
  EXPECT_EQ(format_time(999.6), "1.00 \xC2\xB5s");
  EXPECT_EQ(format_time(123'400'000), "123 ms");
  EXPECT_EQ(format_time(2.5e9), "2.50 s");
  EXPECT_EQ(format_time(2.5e12), "2,500 s");
  EXPECT_EQ(format_time(-1), "-");
}

TEST(Timing, AReplyOfTheWorkerBecomesMetrics) {
  wire::Message reply{"timed",
                      {{"iterations", "5000"}, {"wall", "10.5 11 12"}, {"cpu", "10 10.25 11"}}};
  const auto outcome = parse_reply(reply, {});
  const auto& got = std::get<Counted>(outcome);
  EXPECT_EQ(got.metrics, (std::map<std::string, double>{{"wall", 11}, {"cpu", 10.25}}));
  EXPECT_EQ(got.timing, (Timing{{{kWall, {10.5, 11, 12}}, {kCpu, {10, 10.25, 11}}}, 5000}));
  EXPECT_FALSE(got.timing->others);
  reply.fields["others"] = "0.125";
  EXPECT_EQ(std::get<Counted>(parse_reply(reply, {})).timing->others, 0.125);
  reply.fields["eager"] = "20 21 22";
  EXPECT_EQ(std::get<Counted>(parse_reply(reply, {})).timing->eager, (Values{20, 21, 22}));
  reply.fields["device_peak_bytes"] = "1048576";
  EXPECT_EQ(std::get<Counted>(parse_reply(reply, {})).metrics.at("device_peak_bytes"), 1048576);
  reply.fields["wall"] = "";
  EXPECT_EQ(std::get<Failure>(parse_reply(reply, {})).kind, FailureKind::kWorkerLost);
}

TEST(Timing, TracingIsWhatIsNotSpentWaitingForXla) {
  wire::Message reply{"timed", {{"iterations", "50"}, {"wall", "100 110 120"}}};
  reply.fields["xla_wait"] = "60 30 121";
  reply.fields["xla_executions"] = "1 1 1";
  const auto outcome = parse_reply(reply, {});
  const auto& got = std::get<Counted>(outcome);
  EXPECT_EQ(got.timing->of(kTraceTime), (Values{40, 80, 0}));
  EXPECT_EQ(got.timing->of("xla_executions"), (Values{1, 1, 1}));
  EXPECT_EQ(got.metrics.at(kTraceTime), 40);
  reply.fields["xla_wait"] = "60 30";
  EXPECT_TRUE(std::get<Counted>(parse_reply(reply, {})).timing->of(kTraceTime).empty());
}

TEST(Timing, RelativeTimesAreOfTheSameRound) {
  Timing timing{{{kWall, {10, 12, 16}}}, 1};
  add_relative(timing, {20, 40, 20});
  EXPECT_EQ(timing.of(kRelativeWall), (Values{0.5, 0.3, 0.8}));
  std::map<std::string, double> metrics;
  add_times(metrics, timing);
  EXPECT_EQ(metrics.at("relative_wall"), 0.5);
  EXPECT_EQ(format_metric("relative_wall", 0.5125), "0.512x");
  Timing other{{{kWall, {10, 12, 16}}}, 1};
  add_relative(other, {20, 40});
  EXPECT_TRUE(other.of(kRelativeWall).empty());
}

TEST(MeasurementList, TimesJoinTheCountsOfTheirVariant) {
  MeasurementList list;
  list.add(counted("a", 100));
  list.add(counted("b", 200));
  list.add(timed("b", {5, 6, 7}));
  list.add(timed("c", {8, 9, 10}));
  ASSERT_EQ(list.all().size(), 3u);
  const auto& b = std::get<Counted>(list.all()[1].outcome);
  EXPECT_EQ(b.metrics.at("instructions"), 200);
  EXPECT_EQ(b.metrics.at("wall"), 6);
  EXPECT_EQ(b.timing->of(kWall), (Values{5, 6, 7}));
}

TEST(MeasurementList, TwoCountsOfAVariantAreKept) {
  MeasurementList list;
  list.add(counted("a", 100));
  list.add(counted("a", 100));
  EXPECT_EQ(list.all().size(), 2u);
}

// A run that resumed after it was killed between counting and timing has counted again.
TEST(MeasurementList, ACountReplacesOneThatDependsOnTheSame) {
  MeasurementList list;
  for (const double count : {100, 104}) {
    Measurement measurement = counted("a", count);
    measurement.depends_on.entries = {{"definition", "1"}};
    list.add(measurement);
  }
  ASSERT_EQ(list.all().size(), 1u);
  EXPECT_EQ(find_metric_of(list.all()[0], kInstructions), 104);
}

// --resume with the results of a run without it.
TEST(MeasurementList, ACountReplacesOneWhoseDependenciesAreUnknown) {
  MeasurementList list;
  list.add(counted("a", 100));
  Measurement measurement = counted("a", 104);
  measurement.depends_on.entries = {{"definition", "1"}};
  list.add(measurement);
  ASSERT_EQ(list.all().size(), 1u);
  EXPECT_EQ(find_metric_of(list.all()[0], kInstructions), 104);
}

TEST(MeasurementList, AFailureReplacesTheCounts) {
  MeasurementList list;
  list.add(counted("a", 100));
  list.add(failed("a"));
  list.add(skipped("b"));
  list.add(timed("b", {5, 6}));
  ASSERT_EQ(list.all().size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Failure>(list.all()[0].outcome));
  EXPECT_TRUE(std::holds_alternative<Counted>(list.all()[1].outcome));
}

TEST(Timing, RoundTrip) {
  std::string file = to_line(to_json(make_results_header({}, {}))) + "\n" +
                     to_line(to_json(counted("a", 100))) + "\n" +
                     to_line(to_json(timed("a", {5.5, 6, 7}))) + "\n" +
                     to_line(to_json(timed("b", {1, 2, 3}))) + "\n";
  EXPECT_HAS(file, "\"outcome\":\"timed\"");
  auto results = value_of(parse_results(file, "r.jsonl", Incomplete::kAllowed));
  ASSERT_EQ(results.measurements.size(), 2u);
  const auto& a = std::get<Counted>(results.measurements[0].outcome);
  EXPECT_EQ(a.metrics.at("instructions"), 100);
  EXPECT_EQ(a.timing, (Timing{{{kWall, {5.5, 6, 7}}, {kCpu, {5.5, 6, 7}}}, 1000}));
  EXPECT_TRUE(std::get<Counted>(results.measurements[1].outcome).steady);
}

const Values kBefore{10.1, 10.4, 9.8, 10.0, 10.2, 10.3, 9.9, 10.1};
const Values kAlike{10.2, 10.3, 9.9, 10.1, 10.0, 10.5};
const Values kFaster{5.1, 5.2, 4.9, 5.0, 5.1, 4.8};

TEST(Timing, AreComparedBySignificance) {
  auto comparison =
      value_of(compare(testing::before({timed("a", kBefore), timed("b", kBefore)}),
                       testing::after({timed("a", kAlike), timed("b", kFaster)}), {}));
  EXPECT_EQ(comparison.summary.count(RowState::kSame), 1u);
  EXPECT_EQ(comparison.summary.count(RowState::kFaster), 1u);
  const ComparedRow& faster = comparison.rows[0];
  EXPECT_EQ(faster.key, "b");
  ASSERT_NE(faster.metric("wall"), nullptr);
  EXPECT_LT(faster.metric("wall")->speedup->p, 0.01);
  EXPECT_EQ(comparison_row(faster, {}).cells[3].text, "2.00x ±3% (p<0.01)");
  EXPECT_HAS(value_of(compare_report(ReportFormat::kMarkdown, comparison)),
             "| 2.00x ±3% (p&#60;0.01) |");
  EXPECT_EQ(comparison_row(comparison.rows[1], {}).cells[3].text, "same");
}

TEST(Timing, ALimitThatCannotBeExceededIsAnError) {
  CompareOptions options;
  options.limits.hard["wall"] = Limit{1, std::nullopt};
  EXPECT_EQ(error_text(compare(testing::before({timed("a", {1, 1.1})}),
                               testing::after({timed("a", {10, 11})}), options)),
            "wall of a cannot fail its limit: with 2 repetitions before and 2 after, no "
            "difference exceeds chance: measure both sides with --repetitions=3 or more");
  options.limits.hard.clear();
  EXPECT_TRUE(compare(testing::before({timed("a", {1, 1.1})}),
                      testing::after({timed("a", {10, 11})}), options));
}

TEST(Timing, ALimitAppliesToSignificantDifferences) {
  CompareOptions options;
  options.limits.hard["wall"] = Limit{1, std::nullopt};
  auto verdict = [&](const Values& before, const Values& after) {
    return compare(testing::before({timed("a", before)}), testing::after({timed("a", after)}),
                   options)
        ->verdict;
  };
  EXPECT_EQ(verdict(kFaster, kBefore), Verdict::kFails);
  EXPECT_EQ(verdict(kBefore, kAlike), Verdict::kPasses);
  EXPECT_EQ(verdict(kBefore, kFaster), Verdict::kGain);
}

TEST(Timing, ABusyMachineIsReported) {
  Measurement quiet = timed("a/eager/forward/t1/cpu", kBefore);
  Measurement busy = timed("b/eager/forward/t1/cpu", kBefore);
  for (Measurement* measurement : {&quiet, &busy})
    measurement->variant = parse_key(measurement->variant.key);
  const ReportOptions options{.metrics = {"wall"}};
  std::get<Counted>(quiet.outcome).timing->others = 0.15;
  EXPECT_GOLDEN("report/times_on_a_quiet_machine.txt",
                report(ReportFormat::kTable, {quiet}, options));
  std::get<Counted>(busy.outcome).timing->others = 1.26;
  EXPECT_GOLDEN("report/times_on_a_busy_machine.txt",
                report(ReportFormat::kTable, {quiet, busy}, options));
  const auto again = value_of(parse_results(
      to_line(to_json(make_results_header({}, {}))) + "\n" + to_line(to_json(busy)) + "\n",
      "r.jsonl", Incomplete::kAllowed));
  EXPECT_EQ(std::get<Counted>(again.measurements[0].outcome).timing->others, 1.26);
}

TEST(Timing, CandidatesAreShownAgainstEager) {
  Measurement eager = timed("mm/eager/forward/t1/cpu", kBefore);
  Measurement script = timed("mm/torchscript/forward/t1/cpu", kFaster);
  Measurement frozen = timed("mm/frozen/forward/t1/cpu", kAlike);
  for (Measurement* measurement : {&eager, &script, &frozen}) {
    measurement->variant = parse_key(measurement->variant.key);
  }
  EXPECT_GOLDEN("report/times_of_candidates.txt",
                report(ReportFormat::kTable, {eager, script, frozen}, {.metrics = {"wall"}}));
}

}  // namespace
}  // namespace instr::timing_test
