// Steps, samples and outcomes of runs in a history.

#include "core/base/process.h"
#include "core/compare/compare.h"
#include "core/history/recording.h"
#include "core/history/timeline.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"
#include "tests/golden.h"
#include "tests/unit/history_testing.h"

namespace instr::history_test {
namespace {

using namespace testing;
using Points = std::vector<std::pair<int, double>>;

using History = HistoryTest;

TEST(SeriesSet, ContainsItsRanges) {
  const SeriesSet set = SeriesSet({7, 1, 2, 3, 9, 8});
  EXPECT_EQ(set.text(), "[[1,3],[7,9]]");
  EXPECT_EQ(SeriesSet::parse(set.text()), set);
  for (const int number : {1, 2, 3, 7, 9}) EXPECT_TRUE(set.contains(number)) << number;
  for (const int number : {0, 4, 6, 10}) EXPECT_FALSE(set.contains(number)) << number;
  EXPECT_EQ(SeriesSet::parse("[]"), SeriesSet());
  for (const char* text :
       {"", "{}", "[[1]]", "[2]", "[[1,\"x\"]]", "[[2,1]]", "[[0,1]]", "[[1,3],[3,4]]"}) {
    EXPECT_FALSE(SeriesSet::parse(text)) << text;
  }
}

TEST(Steps, AreSplitByACommitBetweenThem) {
  const Steps steps{{{1, 0}, 10}, {{9, 0}, 30}};
  // At 5: the old value, the new value, or a different one.
  EXPECT_EQ(with_value(steps, {5, 0}, 10, Place{9, 0}), steps);
  EXPECT_EQ(with_value(steps, {5, 0}, 30, Place{9, 0}), (Steps{{{1, 0}, 10}, {{5, 0}, 30}}));
  EXPECT_EQ(with_value(steps, {5, 0}, 20, Place{9, 0}),
            (Steps{{{1, 0}, 10}, {{5, 0}, 20}, {{9, 0}, 30}}));
  // Between two equal values.
  EXPECT_EQ(with_value({{{1, 0}, 10}}, {2, 0}, 11, Place{3, 0}),
            (Steps{{{1, 0}, 10}, {{2, 0}, 11}, {{3, 0}, 10}}));
  // Before all steps.
  EXPECT_EQ(with_value(steps, {0, 0}, 10, Place{1, 0}), (Steps{{{0, 0}, 10}, {{9, 0}, 30}}));
  EXPECT_EQ(steps_since(steps, {4, 0}), (Steps{{{4, 0}, 10}, {{9, 0}, 30}}));
  EXPECT_EQ(steps_since(steps, {9, 0}), (Steps{{{9, 0}, 30}}));
}

TEST_F(History, KeepsStepsAndMeasuredCommits) {
  add(make_run(1, {{"a", 100}, {"b", 50}}));
  add(make_run(2, {{"a", 100}, {"b", 50}}));
  EXPECT_EQ(add(make_run(3, {{"a", 120}})).steps, 1u);
  add(make_run(4, {{"a", 120}, {"b", 50}}));
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {3, 120}}));
  EXPECT_EQ(steps_of("b"), (Points{{1, 50}}));
  auto series = value_of(read_series(open(SqlAccess::kRead), {}));
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].measured, 4u);
  EXPECT_EQ(series[1].measured, 3u);
  EXPECT_EQ(series[0].steps, 1u);
  EXPECT_EQ(series[1].last.position, 4);
  EXPECT_EQ(series[0].value, 120);
}

TEST_F(History, OnlyWritersUpgradeAnEarlierSchema) {
  add(make_run(1, {{"a", 10}}));
  SqlDatabase(file(), SqlAccess::kWrite)
      .run(
          "UPDATE series SET metric = 'ir'; DROP TABLE seal;"
          "ALTER TABLE runs DROP COLUMN definitions; ALTER TABLE runs DROP COLUMN limits_id;"
          "DROP TABLE limit_sets; PRAGMA user_version = 1");
  const std::string bytes = text_of(file());
  const auto metrics = [this] {
    std::vector<std::string> all;
    for (const auto& summary : value_of(read_series(open(SqlAccess::kRead), {}))) {
      all.push_back(summary.series.metric);
    }
    return all;
  };
  EXPECT_EQ(metrics(), std::vector<std::string>{kInstructions});
  {
    const SqlDatabase database = open(SqlAccess::kRead);
    EXPECT_EQ(value_of(value_of(read_runs(database))())->definitions, std::vector<std::string>{});
  }
  EXPECT_EQ(text_of(file()), bytes);
  open(SqlAccess::kWrite);
  EXPECT_EQ(open(SqlAccess::kRead).integer("PRAGMA user_version"), kHistorySchema);
  EXPECT_EQ(metrics(), std::vector<std::string>{kInstructions});
  add(make_run(2, {{"a", 11}}));
  EXPECT_EQ(steps_of("a"), (Points{{1, 10}, {2, 11}}));
}

// Runs of schema 3 had no limits: the defaults apply to the changes after them.
TEST_F(History, LimitsBeginWithSchema4) {
  add(make_run(1, {{"a", 1000}}));
  SqlDatabase(file(), SqlAccess::kWrite)
      .run(
          "ALTER TABLE runs DROP COLUMN limits_id; DROP TABLE limit_sets; PRAGMA user_version = 3;"
          "UPDATE seal SET digest = NULL");
  EXPECT_EQ(steps_of("a"), (Points{{1, 1000}}));
  HistoryRun limited = make_run(2, {{"a", 1006}});
  limited.limits["a"] = {{kInstructions, "1%"}};
  add(limited);
  EXPECT_EQ(open(SqlAccess::kRead).integer("PRAGMA user_version"), kHistorySchema);
  add(make_run(3, {{"a", 1012}}));
  add(make_run(4, {{"a", 1018}}));
  std::vector<Verdict> verdicts;
  for (const auto& step : value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false))) {
    verdicts.push_back(step.change.verdict);
  }
  EXPECT_EQ(verdicts, (std::vector{Verdict::kFails, Verdict::kWarns, Verdict::kFails}));
  {
    const SqlDatabase database = open(SqlAccess::kRead);
    const auto next = value_of(read_runs(database));
    for (const bool is_limited : {false, true, false, false}) {
      EXPECT_EQ(value_of(next())->limits, is_limited ? limited.limits : LimitsOfKeys{});
    }
  }
  ASSERT_TRUE(prune(open(), commit(3).place(), {}));
  EXPECT_EQ(open().integer("SELECT count(*) FROM limit_sets"), 0);
}

TEST_F(History, SkipsARecordedRun) {
  add(make_run(1, {{"a", 100}}));
  const Recorded again = add(make_run(1, {{"a", 100}}));
  EXPECT_EQ(again.known_runs, 1u);
  EXPECT_EQ(again.runs, 0u);
}

TEST_F(History, ListsOpenSteps) {
  EXPECT_EQ(read_open_steps(open(), "main"), std::vector<OpenStep>{});
  add(make_run(1, {{"a", 1}, {"b", 1}}));
  add(make_run(9, {{"a", 2}, {"b", 1}}));
  const auto open_now = [this] { return read_open_steps(open(SqlAccess::kRead), "main"); };
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(1).hash, commit(9).hash}}));
  add(make_run(5, {{"b", 1}}));  // says nothing of `a`
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(1).hash, commit(9).hash}}));
  add(make_run(4, {{"a", 1}}));
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(4).hash, commit(9).hash}}));
  add(make_run(8, {{"a", 1}}));
  EXPECT_EQ(open_now(), std::vector<OpenStep>{});
  EXPECT_EQ(value_of(count_failures(open(), "main", commit(5).hash)),
            std::optional<std::int64_t>(0));
  EXPECT_EQ(value_of(count_failures(open(), "main", commit(6).hash)), std::nullopt);
  EXPECT_EQ(value_of(count_failures(open(), "other", commit(5).hash)), std::nullopt);
}

TEST_F(History, StepsSayWhichCommitsMayHaveMadeThem) {
  add(make_run(1, {{"a", 1}, {"b", 1}}));
  add(make_run(9, {{"a", 2}, {"b", 1}}));
  add(make_run(5, {{"b", 1}}));
  add(make_run(10, {{"a", 3}, {"b", 2}}));
  std::vector<std::pair<std::string, std::int64_t>> candidates;
  const auto steps = value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, true));
  for (const RecordedStep& step : steps) {
    candidates.emplace_back(fmt::format("{} {}", step.series.key, step.commit.position),
                            step.count_other_candidates());
  }
  EXPECT_EQ(candidates,
            (decltype(candidates){{"a 1", 0}, {"b 1", 0}, {"a 9", 7}, {"a 10", 0}, {"b 10", 0}}));
  const auto table = value_of(steps_table(open(SqlAccess::kRead), steps, {}));
  EXPECT_HAS(render(ReportFormat::kTable, {.tables = {table}}),
             short_hash(commit(9).hash) + " or 7 before");
}

TEST_F(History, RefusesAnotherCountOfTheSameCommit) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(2, {{"a", 100}}));
  const std::string before = text_of(file());
  auto refused = record(open(), {make_run(3, {{"a", 7}}), make_run(2, {{"a", 101}})},
                        OnContradiction::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_HAS(refused.error().what, "`a`: instructions was 100, is 101");
  EXPECT_HAS(refused.error().advice, "--replace");
  EXPECT_EQ(text_of(file()), before);  // commit 3 neither
  add(make_run(3, {{"a", 100}}));
  add(make_run(2, {{"a", 101}}), OnContradiction::kReplace);
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {2, 101}, {3, 100}}));
  add(make_run(2, {{"a", 100}, {"b", 1}}), OnContradiction::kReplace);
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}}));
}

// Returns the key and state of each outcome.
std::vector<std::string> outcomes_of(const SqlDatabase& database) {
  std::vector<std::string> all;
  for (const RecordedOutcome& recorded : read_outcomes(database, {})) {
    all.push_back(recorded.outcome.key + " " + recorded.outcome.state);
  }
  return all;
}

TEST_F(History, KeepsFailuresWithTheirRun) {
  for (const int position : {1, 2}) {
    HistoryRun run = make_run(position, {{"a", 100}});
    run.outcomes = {{"b", kFailedState, "crashed"}, {"a", "PASS", ""}, {"c", kSkippedState, ""}};
    add(run);
  }
  EXPECT_EQ(outcomes_of(open()),
            (std::vector<std::string>{"a PASS", "b failed", "a PASS", "b failed"}));
  {
    auto merged = value_of(open_history(folder_.path() / "merged.db", SqlAccess::kCreate));
    const SqlDatabase database = open(SqlAccess::kRead);
    ASSERT_TRUE(record(merged, value_of(read_runs(database)), OnContradiction::kRefuse));
    EXPECT_EQ(outcomes_of(merged), outcomes_of(database));
  }
  ASSERT_TRUE(prune(open(), commit(2).place(), {}));
  EXPECT_EQ(outcomes_of(open()), (std::vector<std::string>{"a PASS", "b failed"}));
}

TEST_F(History, OtherFingerprintsAndBranchesAreOtherSeries) {
  add(make_run(1, {{"a", 100}}, "main", R"([["compiler","g++ 12"]])"));
  add(make_run(2, {{"a", 90}}, "main", R"([["compiler","clang 14"]])"));
  add(make_run(2, {{"a", 100}}, "other", R"([["compiler","g++ 12"]])"));
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {2, 90}}));  // first values both
  EXPECT_TRUE(value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false)).empty());
  auto breaks = value_of(read_breaks(open(SqlAccess::kRead), {}));
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_EQ(breaks[0].commit.position, 2);
  const auto lines = break_lines(breaks);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "  compiler: g++ 12, then clang 14");
}

TEST_F(History, KeepsEverySampleOfTimes) {
  HistoryRun first = make_run(1, {});
  first.values = {{"a", kWall, false, 0, 12.5, {12, 13}}};
  HistoryRun again = first;
  again.digest += "again";
  again.values[0].value = 12.25;
  add(first);
  add(again);
  const SqlDatabase database = open(SqlAccess::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM all_samples"), 2);
  EXPECT_EQ(database.integer("SELECT sum(json_each.value) FROM samples, json_each(repetitions)"),
            50);
  auto series = value_of(read_series(database, {}));
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].measured, 2u);
}

// Times at commit 9 are 20% above those before; a slow drift and a single outlier are no steps.
TEST_F(History, ComparesTheTimesOfNeighbours) {
  for (int position = 1; position <= 12; ++position) {
    HistoryRun run = make_run(position, {});
    const double level = (position < 9 ? 100 : 120) + 0.1 * position;
    RunValue value{"a", kWall, false, 0, level, {}};
    for (int i = 0; i < 10; ++i) value.repetitions.push_back(level - 1 + 0.2 * i);
    if (position == 5) value.repetitions.back() = 1000;
    run.values = {value, {"b", kWall, false, 0, level, {}}};
    add(run);
  }
  auto steps = value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].commit.position, 9);
  EXPECT_EQ(steps[0].measured_before->position, 8);
  EXPECT_EQ(steps[0].change.before, 100.8);
  EXPECT_EQ(steps[0].change.after, 120.9);
  EXPECT_LE(steps[0].change.speedup->p, 0.01);
  const SqlDatabase database = open(SqlAccess::kRead);
  auto table = value_of(steps_table(database, steps, {}));
  EXPECT_GOLDEN("history/step_of_times.txt", render(ReportFormat::kTable, {.tables = {table}}));
}

// Equal code has no steps: the samples of a commit are one.
TEST_F(History, JoinsTheTimesOfACommit) {
  for (int i = 0; i < 4; ++i) {
    HistoryRun run = make_run(1 + i / 2, {});
    run.digest += std::to_string(i);
    const double level = i % 2 == 0 ? 100 : 120;
    run.values = {{"a", kWall, false, 0, level, {level, level + 1, level + 2, level + 3}}};
    add(run);
  }
  EXPECT_EQ(value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false)).size(), 0u);
}

TEST_F(History, ListsTheFunctionsOfAStep) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(4, {{"a", 160}}));
  add(make_run(2, {{"a", 100}}));
  const SqlDatabase database = open(SqlAccess::kRead);
  auto steps = value_of(read_steps(database, {}, std::nullopt, false));
  auto table = value_of(steps_table(database, steps, {}));
  EXPECT_GOLDEN("history/step_with_functions.txt",
                render(ReportFormat::kTable, {.tables = {table}}));
  Document document;
  add_records(document, table);
  EXPECT_GOLDEN("history/step_with_functions.jsonl", render(ReportFormat::kJsonl, document));
  EXPECT_TRUE(value_of(read_steps(database, {}, commit(4).place(), false)).empty());
}

TEST_F(History, TheFirstRunSettlesVary) {
  ASSERT_TRUE(record(open(), {make_run(1, {{"a", 1}})}, OnContradiction::kRefuse, {"libtorch"}));
  EXPECT_EQ(resolve_vary(open(), {}), (std::vector<std::string>{"libtorch"}));
  auto other = record(open(), {make_run(2, {{"a", 1}})}, OnContradiction::kRefuse, {"compiler"});
  ASSERT_FALSE(other);
  EXPECT_HAS(other.error().what, "may vary in libtorch");
}

// --- Real results ---

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
  auto comparison = value_of(compare(results("before.jsonl"), results("after.jsonl")));
  std::map<std::string, double> expected;
  for (const ComparedRow& row : comparison.rows) {
    const bool is_exact = row.key.find("/t1/") != std::string::npos;
    if (is_exact && row.ir_change() != 0) expected[row.key] = row.ir_change();
  }
  EXPECT_FALSE(expected.empty());
  auto steps =
      value_of(read_steps(open(SqlAccess::kRead), {{}, {kInstructions}, {}}, std::nullopt, false));
  std::map<std::string, double> recorded_changes;
  for (const RecordedStep& step : steps) recorded_changes[step.series.key] = *step.change.change();
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
  EXPECT_HAS(error_text(make_run(results("before.jsonl"), late, "main", {}, false)),
             "before commit");
  EXPECT_TRUE(make_run(results("before.jsonl"), late, "main", {}, true));
}

// --- Options that name definitions ---

using Words = std::vector<std::string>;

TEST(DefinitionOptions, AreSelectedFromACommand) {
  EXPECT_EQ(select_definition_options(
                {"instr_bench", "--record", "--definitions=bench.toml", "--filter=--suite=no",
                 "--suite", "timm", "--param=n=1,2", "--build=b.toml", "--definitions=bench.toml"},
                ""),
            (Words{"--definitions=bench.toml", "--suite=timm", "--param=n=1,2", "--build=b.toml"}));
  EXPECT_EQ(select_definition_options({"instr_bench", "--definitions"}, ""), Words{});
  EXPECT_EQ(select_definition_options({}, ""), Words{});
}

TEST(DefinitionOptions, AreRelativeToTheProject) {
  EXPECT_EQ(select_definition_options({"instr_bench", "--definitions=/project/sub/bench.toml",
                                       "--definitions=/other/bench.toml", "--definitions=own.toml"},
                                      "/project"),
            (Words{"--definitions=sub/bench.toml", "--definitions=/other/bench.toml",
                   "--definitions=own.toml"}));
}

}  // namespace
}  // namespace instr::history_test
