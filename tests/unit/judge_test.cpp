// The judge gives a sequence the verdicts that compare() gives its neighbours.
#include "core/compare/judge.h"

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/compare_testing.h"

namespace instr::judge_test {
namespace {

using namespace testing;

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
}  // namespace instr::judge_test
