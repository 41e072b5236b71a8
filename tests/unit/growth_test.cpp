// Growth that was not accepted, and the issue that reports it.
#include "core/history/recording.h"
#include "core/report/history_tables.h"
#include "history_testing.h"
#include "tests/golden.h"
#include "tests/results_examples.h"

namespace instr::growth_test {
namespace {

using namespace testing;

class Growth : public HistoryTest {
 protected:
  // Returns key and position of each step.
  std::vector<std::pair<std::string, int>> growth(const Acceptances& accepted = {},
                                                  std::optional<Place> since = {}) const {
    const auto steps = find_regressions(open(SqlAccess::kRead), accepted, since);
    std::vector<std::pair<std::string, int>> list;
    for (const RecordedStep& step : steps) {
      list.emplace_back(step.series.key, static_cast<int>(step.commit.position));
    }
    return list;
  }

  std::string issue(const std::vector<std::string>& options = {}) const {
    const SqlDatabase database = open(SqlAccess::kRead);
    return value_of(growth_issue(database, find_regressions(database), options));
  }

 private:
  static std::vector<RecordedStep> find_regressions(const SqlDatabase& database,
                                                    const Acceptances& accepted = {},
                                                    std::optional<Place> since = {}) {
    auto steps = value_of(read_steps(database, {}, since, /*with_first=*/false, accepted));
    std::erase_if(steps, [](const RecordedStep& step) { return !step.is_regression; });
    return steps;
  }
};

using Found = std::vector<std::pair<std::string, int>>;

TEST_F(Growth, IsBeyondTheLimit) {
  add(make_run(1, {{"a", 1000}, {"b", 1000}, {"c", 1000}, {"d", 1000}}));
  add(make_run(2, {{"a", 1005}, {"b", 1006}, {"c", 900}, {"d", 1000}}));
  EXPECT_EQ(growth(), (Found{{"b", 2}}));
}

// Makes a run of results whose benchmarks carry this limit of their instructions; "": none.
HistoryRun limited_run(int position, const std::map<std::string, double>& counts,
                       const std::string& limit) {
  std::vector<Measurement> measurements;
  for (const auto& [key, count] : counts) {
    measurements.push_back(counted(key, count));
    if (!limit.empty()) measurements.back().variant.limits[kInstructions] = limit;
  }
  ResultSet set = results("results.jsonl", std::move(measurements));
  set.results.header = example_header();
  return value_of(instr::make_run(set, commit(position), "main", {}, /*is_commit_trusted=*/true));
}

TEST_F(Growth, IsJudgedByTheLimitsOfTheRunBefore) {
  add(limited_run(1, {{"a", 1000}, {"b", 1000}}, "1%"));
  add(limited_run(2, {{"a", 1006}, {"b", 1012}}, "1%"));
  EXPECT_EQ(growth(), (Found{{"b", 2}}));
  add(limited_run(3, {{"a", 1013}, {"b", 1100}}, "none"));  // does not loosen its own limit
  EXPECT_EQ(growth(), (Found{{"b", 2}, {"b", 3}}));
  add(limited_run(4, {{"a", 2000}, {"b", 1100}}, ""));
  EXPECT_EQ(growth(), (Found{{"b", 2}, {"b", 3}}));
  add(limited_run(5, {{"a", 2000}, {"b", 1107}}, ""));
  EXPECT_EQ(growth(), (Found{{"b", 2}, {"b", 3}, {"b", 5}}));
}

TEST_F(Growth, ExcludesUndoneSteps) {
  add(make_run(1, {{"a", 1000}, {"b", 1000}}));
  add(make_run(2, {{"a", 1100}, {"b", 1100}}));
  EXPECT_EQ(growth(), (Found{{"a", 2}, {"b", 2}}));
  add(make_run(3, {{"a", 1003}, {"b", 1050}}));
  EXPECT_EQ(growth(), (Found{{"b", 2}}));
}

TEST_F(Growth, ExcludesAcceptedAndEarlierSteps) {
  add(make_run(1, {{"a", 1000}, {"b", 1000}}));
  add(make_run(2, {{"a", 1100}, {"b", 1100}}));
  add(make_run(3, {{"a", 1200}, {"b", 1100}}));
  EXPECT_EQ(growth({{"*", "instructions", 1000, 1100, "", "Ada", "why"}}), (Found{{"a", 3}}));
  EXPECT_EQ(growth({{"a", "instructions", 1000, 1101, "", "Ada", "why"}}).size(), 3u);
  EXPECT_EQ(growth({}, commit(2).place()), (Found{{"a", 3}}));
}

TEST_F(Growth, IsOfExactMetricsOnly) {
  for (int position = 1; position <= 30; ++position) {
    HistoryRun run = make_run(position, {});
    run.values = {{"a", kWall, false, 0, (position < 17 ? 100.0 : 120.0) + position % 3}};
    add(run);
  }
  EXPECT_EQ(growth(), Found{});
}

// Each benchmark was measured at other commits; one needs its backend to be requested.
TEST_F(Growth, NamesTheCandidatesOfEachStep) {
  const std::string compiled = "b/inductor/forward/t1/cpu";
  add(make_run(1, {{"a", 1000}, {compiled, 1000}}));
  add(make_run(3, {{compiled, 1000}}));
  HistoryRun run = make_run(4, {{"a", 1500}, {compiled, 1500}});
  run.definitions = {"--definitions=a file.toml"};
  add(run);
  EXPECT_GOLDEN("history/issue_with_candidates.md", issue());
}

TEST_F(Growth, IsReportedWithCommitFunctionsAndCommands) {
  add(make_run(1, {{"a b", 1000}, {"c", 1000}}));
  HistoryRun run = make_run(4, {{"a b", 1500}, {"c", 1100}});
  run.commit.subject = "Faster | @all `x`";
  add(run);
  EXPECT_GOLDEN("history/issue.md", issue({"--definitions=bench.toml", "--label=it's"}));
  add(make_run(3, {{"a b", 1000}, {"c", 1000}}));
  EXPECT_GOLDEN("history/issue_at_its_commit.md", issue());
  add(make_run(5, {{"a b", 1500}, {"c", 2000}}));
  EXPECT_GOLDEN("history/issue_of_two_commits.md", issue());
}

}  // namespace
}  // namespace instr::growth_test
