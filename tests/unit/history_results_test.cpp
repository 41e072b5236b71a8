// Real results of LibTorch 1.13, before and after a change, in a history.
#include "core/compare/compare.h"
#include "core/history/recording.h"
#include "tests/unit/history_testing.h"

namespace instr::history_results_test {
namespace {

using namespace testing;

class HistoryOfResults : public HistoryTest {
 protected:
  static ResultSet results(const std::string& name) {
    return value_of(read_result_set(testing::fixture("formats/" + name), name));
  }
  static HistoryRun recorded(const std::string& name, int position) {
    auto run = make_run(results(name), commit(position), "main", {}, false);
    EXPECT_TRUE(run) << to_string(run.error());
    return std::move(*run);
  }
};

TEST_F(HistoryOfResults, HasTheStepsThatCompareShows) {
  add(recorded("after.jsonl", 2));
  add(recorded("before.jsonl", 1));
  auto comparison = compare(results("before.jsonl"), results("after.jsonl"));
  ASSERT_TRUE(comparison);
  std::map<std::string, double> expected;
  for (const ComparedRow& row : comparison->rows) {
    const bool is_exact = row.key.find("/t1/") != std::string::npos;
    if (is_exact && row.ir_change() != 0) expected[row.key] = row.ir_change();
  }
  EXPECT_FALSE(expected.empty());
  auto steps = read_steps(open(SqlAccess::kRead), {{}, {kInstructions}, {}}, std::nullopt, false);
  ASSERT_TRUE(steps);
  std::map<std::string, double> recorded_changes;
  for (const RecordedStep& step : *steps) recorded_changes[step.series.key] = *step.change.change();
  EXPECT_EQ(recorded_changes, expected);
}

TEST_F(HistoryOfResults, CountsOfSeveralThreadsAreSamples) {
  add(recorded("before.jsonl", 1));
  const SqlDatabase database = open(SqlAccess::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM all_samples WHERE key LIKE '%/t2/%'"), 4);
  EXPECT_EQ(database.integer("SELECT count(*) FROM all_steps WHERE key LIKE '%/t2/%'"), 0);
}

TEST_F(HistoryOfResults, AreRefusedIfOlderThanTheirCommit) {
  Commit late = commit(1);
  late.authored = *parse_time("2026-12-01T00:00:00Z");
  auto refused = make_run(results("before.jsonl"), late, "main", {}, false);
  ASSERT_FALSE(refused);
  EXPECT_HAS(to_string(refused.error()), "before commit");
  EXPECT_TRUE(make_run(results("before.jsonl"), late, "main", {}, true));
}

}  // namespace
}  // namespace instr::history_results_test
