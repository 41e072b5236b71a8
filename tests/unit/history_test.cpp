// Runs into a history and back: whatever order they come in, the steps are those of the commits.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "core/base/process.h"
#include "core/history/profiles.h"
#include "core/history/prune.h"
#include "core/history/read.h"
#include "core/history/read_runs.h"
#include "core/history/recording.h"
#include "core/history/steps.h"
#include "core/history/timeline.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"
#include "tests/golden.h"
#include "tests/unit/history_testing.h"

namespace instr::history_test {
namespace {

using namespace testing;
using Points = std::vector<std::pair<int, double>>;

class History : public HistoryTest {
 protected:
  // Records commits in a process of its own: SQLite's locks are those of a process.
  pid_t start_writer(int first, int end, const std::map<std::string, double>& values) const {
    const pid_t child = fork();
    if (child != 0) return child;
    for (int position = first; position < end; ++position) {
      if (!record(open(), {run_of(position, values)}, OnContradiction::kRefuse)) _exit(1);
    }
    _exit(0);
  }

  // Of a process, after that signal.
  static int status_of(pid_t child, int signal) {
    if (signal != 0) kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return to_exit_code(status);
  }
};

TEST(SeriesSets, AreRangesThatKnowTheirMembers) {
  const SeriesSet set = SeriesSet({7, 1, 2, 3, 9, 8});
  EXPECT_EQ(set.text(), "[[1,3],[7,9]]");
  EXPECT_EQ(SeriesSet::parse(set.text()), set);
  for (const int one : {1, 2, 3, 7, 9}) EXPECT_TRUE(set.contains(one)) << one;
  for (const int one : {0, 4, 6, 10}) EXPECT_FALSE(set.contains(one)) << one;
  EXPECT_EQ(SeriesSet::parse("[]"), SeriesSet());
  for (const char* text :
       {"", "{}", "[[1]]", "[2]", "[[1,\"x\"]]", "[[2,1]]", "[[0,1]]", "[[1,3],[3,4]]"}) {
    EXPECT_FALSE(SeriesSet::parse(text)) << text;
  }
}

TEST(Steps, OfACommitBetweenTwoSplit) {
  const Steps steps{{{1, 0}, 10}, {{9, 0}, 30}};
  // At 5 still the old value, or the new one already, or one of its own.
  EXPECT_EQ(with_value(steps, {5, 0}, 10, Place{9, 0}), steps);
  EXPECT_EQ(with_value(steps, {5, 0}, 30, Place{9, 0}), (Steps{{{1, 0}, 10}, {{5, 0}, 30}}));
  EXPECT_EQ(with_value(steps, {5, 0}, 20, Place{9, 0}),
            (Steps{{{1, 0}, 10}, {{5, 0}, 20}, {{9, 0}, 30}}));
  // Between two measured alike.
  EXPECT_EQ(with_value({{{1, 0}, 10}}, {2, 0}, 11, Place{3, 0}),
            (Steps{{{1, 0}, 10}, {{2, 0}, 11}, {{3, 0}, 10}}));
  // Before all others.
  EXPECT_EQ(with_value(steps, {0, 0}, 10, Place{1, 0}), (Steps{{{0, 0}, 10}, {{9, 0}, 30}}));
  EXPECT_EQ(steps_since(steps, {4, 0}), (Steps{{{4, 0}, 10}, {{9, 0}, 30}}));
  EXPECT_EQ(steps_since(steps, {9, 0}), (Steps{{{9, 0}, 30}}));
}

TEST_F(History, KeepsStepsAndWhichCommitsWereMeasured) {
  add(run_of(1, {{"a", 100}, {"b", 50}}));
  add(run_of(2, {{"a", 100}, {"b", 50}}));
  EXPECT_EQ(add(run_of(3, {{"a", 120}})).steps, 1u);
  add(run_of(4, {{"a", 120}, {"b", 50}}));
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {3, 120}}));
  EXPECT_EQ(steps_of("b"), (Points{{1, 50}}));
  auto series = read_series(open(SqlAccess::kRead), {});
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].measured, 4u);
  EXPECT_EQ((*series)[1].measured, 3u);
  EXPECT_EQ((*series)[0].steps, 1u);
  EXPECT_EQ((*series)[1].last.position, 4);
  EXPECT_EQ((*series)[0].value, 120);
}

TEST_F(History, OfAnEarlierSchemaHasTheNewNames) {
  ASSERT_TRUE(record(open(), {run_of(1, {{"a", 10}})}, OnContradiction::kRefuse));
  open().run("UPDATE series SET metric = 'ir' WHERE metric = 'instructions'");
  open().run("PRAGMA user_version = 1");
  const auto upgraded = open_history(file(), SqlAccess::kRead);
  ASSERT_TRUE(upgraded);
  EXPECT_EQ(upgraded->integer("SELECT count(*) FROM series WHERE metric = 'instructions'"), 1);
}

TEST_F(History, ARunThatIsThereAlreadyChangesNothing) {
  add(run_of(1, {{"a", 100}}));
  const Recorded again = add(run_of(1, {{"a", 100}}));
  EXPECT_EQ(again.known_runs, 1u);
  EXPECT_EQ(again.runs, 0u);
}

// What the steps must be, from all values.
Points changes_of(const std::map<int, double>& values) {
  Points points;
  for (const auto& [position, value] : values) {
    if (points.empty() || points.back().second != value) points.emplace_back(position, value);
  }
  return points;
}

using Truth = std::map<std::string, std::map<int, double>>;

// Some of three keys at each of these commits, with the values that they have.
std::vector<HistoryRun> random_runs(std::mt19937& random, Truth& truth) {
  std::vector<HistoryRun> runs;
  for (int position = 1; position <= 12; ++position) {
    std::map<std::string, double> values;
    for (const char* key : {"a", "b", "c"}) {
      if (random() % 4 == 0) continue;  // not measured
      values[key] = truth[key][position] = 100 + random() % 3;
    }
    runs.push_back(run_of(position, values));
  }
  std::shuffle(runs.begin(), runs.end(), random);
  return runs;
}

// Each step has the functions of its own count.
void expect_own_functions(const SqlDatabase& database) {
  Profiles profiles(database);
  const auto steps = read_steps(database, {}, std::nullopt, true);
  ASSERT_TRUE(steps);
  for (const RecordedStep& step : *steps) {
    FunctionsSum sum;
    for (const auto& one : profiles.read(step.series.id, step.commit_id)) sum.add(one.ir);
    EXPECT_EQ(sum.total(), step.after);
    const auto tree = profiles.read_call_tree(step.series.id, step.commit_id);
    ASSERT_TRUE(tree);
    EXPECT_EQ(static_cast<double>(tree->nodes[0].total), step.after);
    EXPECT_EQ(tree->code_of(tree->nodes[2]).function, "in a tree");
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM steps"),
            database.integer("SELECT count(*) FROM profiles"));
}

// What is exported: the value at each measured commit.
Truth points_of(const SqlDatabase& database) {
  Truth points;
  EXPECT_TRUE(for_each_point(database, {}, [&points](const HistoryPoint& point) {
    points[point.series.key][static_cast<int>(point.commit.position)] = point.value;
    return true;
  }));
  return points;
}

TEST_F(History, IsTheSameInWhateverOrderCommitsAreAdded) {
  std::mt19937 random(20261124);
  for (int round = 0; round < 12; ++round) {
    std::filesystem::remove_all(file().parent_path());
    Truth truth;
    for (const HistoryRun& run : random_runs(random, truth)) add(run);
    for (const auto& [key, values] : truth) {
      EXPECT_EQ(steps_of(key), changes_of(values)) << key << " in round " << round;
    }
    EXPECT_EQ(points_of(open(SqlAccess::kRead)), truth);
    expect_own_functions(open(SqlAccess::kRead));
  }
}

TEST_F(History, MergedFromTwoIsTheSameAsOfAll) {
  std::mt19937 random(17);
  Truth truth;
  const std::vector<HistoryRun> runs = random_runs(random, truth);
  const std::filesystem::path other_file = folder_.path() / "other.db";
  {
    auto other = open_history(other_file, SqlAccess::kCreate);
    ASSERT_TRUE(other);
    const std::vector<HistoryRun> half(runs.begin() + 5, runs.end());
    ASSERT_TRUE(record(*other, half, OnContradiction::kRefuse));
    HistoryRun times = run_of(3, {});
    times.digest = "times";
    times.values = {{"t", kWall, false, 0, 12.5, {12, 13}}};
    ASSERT_TRUE(record(*other, {times}, OnContradiction::kRefuse));
  }
  for (std::size_t i = 0; i < 7; ++i) add(runs[i]);  // two of them are in both
  for (const std::size_t known : {2, 8}) {
    auto other = open_history(other_file, SqlAccess::kRead);
    ASSERT_TRUE(other);
    auto merged = record(open(), *read_runs(*other), OnContradiction::kRefuse);
    ASSERT_TRUE(merged) << to_string(merged.error());
    EXPECT_EQ(merged->known_runs, known);
  }
  truth["t"][3] = 12.5;
  EXPECT_EQ(points_of(open(SqlAccess::kRead)), truth);
  truth.erase("t");
  for (const auto& [key, values] : truth) EXPECT_EQ(steps_of(key), changes_of(values)) << key;
  expect_own_functions(open(SqlAccess::kRead));
  EXPECT_EQ(open(SqlAccess::kRead)
                .integer("SELECT sum(value) FROM json_each("
                         "(SELECT repetitions FROM samples))"),
            25);
}

TEST_F(History, PrunedKeepsWhatComesLater) {
  std::mt19937 random(5);
  for (int first = 1; first <= 13; ++first) {
    std::filesystem::remove_all(file().parent_path());
    Truth truth;
    for (const HistoryRun& run : random_runs(random, truth)) add(run);
    auto pruned = prune(open(), commit(first).place(), std::nullopt);
    ASSERT_TRUE(pruned) << to_string(pruned.error());
    EXPECT_EQ(pruned->runs, static_cast<std::size_t>(first - 1));
    for (auto& [key, values] : truth) values.erase(values.begin(), values.lower_bound(first));
    std::erase_if(truth, [](const auto& one) { return one.second.empty(); });
    EXPECT_EQ(points_of(open(SqlAccess::kRead)), truth);
    for (const auto& [key, values] : truth) EXPECT_EQ(steps_of(key), changes_of(values)) << key;
    expect_own_functions(open(SqlAccess::kRead));
    EXPECT_EQ(open().integer("SELECT count(*) FROM commits"), 13 - first);
    EXPECT_EQ(open().integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }
}

TEST_F(History, PrunedHasNothingThatIsNotUsed) {
  for (const int position : {1, 2, 3}) {
    HistoryRun run = run_of(position, {{"a", 100.0 + position}});
    run.functions =
        functions_from({{"a",
                         {{fmt::format("only in {}", position), "libuser.so", 90.0 + position, 1},
                          {"in all", "libuser.so", 10, 1}}}});
    add(run);
  }
  ASSERT_TRUE(prune(open(), commit(3).place(), std::nullopt));
  const SqlDatabase database = open(SqlAccess::kRead);
  auto names = database.prepare("SELECT group_concat(name, ', ') FROM functions ORDER BY name");
  ASSERT_TRUE(names.step());
  EXPECT_EQ(names.text(0), "in all, the snippet, grows, in a tree, only in 3");
  expect_own_functions(database);
}

TEST_F(History, KnowsOfWhichStepsTheCommitIsOpen) {
  EXPECT_EQ(read_open_steps(open(), "main"), std::vector<OpenStep>{});
  add(run_of(1, {{"a", 1}, {"b", 1}}));
  add(run_of(9, {{"a", 2}, {"b", 1}}));
  const auto open_now = [this] { return read_open_steps(open(SqlAccess::kRead), "main"); };
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(1).hash, commit(9).hash}}));
  add(run_of(5, {{"b", 1}}));  // says nothing of `a`
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(1).hash, commit(9).hash}}));
  add(run_of(4, {{"a", 1}}));
  EXPECT_EQ(open_now(), (std::vector<OpenStep>{{commit(4).hash, commit(9).hash}}));
  add(run_of(8, {{"a", 1}}));
  EXPECT_EQ(open_now(), std::vector<OpenStep>{});
  EXPECT_EQ(value_of(count_failures(open(), "main", commit(5).hash)),
            std::optional<std::int64_t>(0));
  EXPECT_EQ(value_of(count_failures(open(), "main", commit(6).hash)), std::nullopt);
  EXPECT_EQ(value_of(count_failures(open(), "other", commit(5).hash)), std::nullopt);
}

TEST_F(History, RefusesAnotherCountOfTheSameCommit) {
  add(run_of(1, {{"a", 100}}));
  add(run_of(2, {{"a", 100}}));
  const std::string before = text_of(file());
  auto refused =
      record(open(), {run_of(3, {{"a", 7}}), run_of(2, {{"a", 101}})}, OnContradiction::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_HAS(refused.error().what, "`a`: instructions was 100, is 101");
  EXPECT_HAS(refused.error().advice, "--replace");
  EXPECT_EQ(text_of(file()), before);  // commit 3 neither
  add(run_of(3, {{"a", 100}}));
  add(run_of(2, {{"a", 101}}), OnContradiction::kReplace);
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {2, 101}, {3, 100}}));
  add(run_of(2, {{"a", 100}, {"b", 1}}), OnContradiction::kReplace);
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}}));
}

// Key and state of each, in their order.
std::vector<std::string> outcomes_of(const SqlDatabase& database) {
  std::vector<std::string> all;
  for (const RecordedOutcome& one : read_outcomes(database, {})) {
    all.push_back(one.outcome.key + " " + one.outcome.state);
  }
  return all;
}

TEST_F(History, KeepsWhatFailedWithItsRun) {
  for (const int position : {1, 2}) {
    HistoryRun run = run_of(position, {{"a", 100}});
    run.outcomes = {{"b", kFailedState, "crashed"}, {"a", "PASS", ""}, {"c", kSkippedState, ""}};
    add(run);
  }
  EXPECT_EQ(outcomes_of(open()),
            (std::vector<std::string>{"a PASS", "b failed", "a PASS", "b failed"}));
  {
    auto merged = open_history(folder_.path() / "merged.db", SqlAccess::kCreate);
    ASSERT_TRUE(merged);
    const SqlDatabase database = open(SqlAccess::kRead);
    auto runs = read_runs(database);
    ASSERT_TRUE(runs);
    ASSERT_TRUE(record(*merged, *runs, OnContradiction::kRefuse));
    EXPECT_EQ(outcomes_of(*merged), outcomes_of(database));
  }
  ASSERT_TRUE(prune(open(), commit(2).place(), {}));
  EXPECT_EQ(outcomes_of(open()), (std::vector<std::string>{"a PASS", "b failed"}));
}

TEST_F(History, OtherFingerprintsAndBranchesAreOtherSeries) {
  add(run_of(1, {{"a", 100}}, "main", R"([["compiler","g++ 12"]])"));
  add(run_of(2, {{"a", 90}}, "main", R"([["compiler","clang 14"]])"));
  add(run_of(2, {{"a", 100}}, "other", R"([["compiler","g++ 12"]])"));
  EXPECT_EQ(steps_of("a"), (Points{{1, 100}, {2, 90}}));  // first values both
  auto changes = read_steps(open(SqlAccess::kRead), {}, std::nullopt, false);
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->empty());
  auto breaks = read_breaks(open(SqlAccess::kRead), {});
  ASSERT_TRUE(breaks);
  ASSERT_EQ(breaks->size(), 1u);
  EXPECT_EQ((*breaks)[0].commit.position, 2);
  const auto lines = break_lines(*breaks);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "  compiler: g++ 12, then clang 14");
}

TEST_F(History, KeepsEverySampleOfTimes) {
  HistoryRun first = run_of(1, {});
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
  auto series = read_series(database, {});
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 1u);
  EXPECT_EQ((*series)[0].measured, 2u);
}

TEST_F(History, ShowsWhereTimesChangedByTheirSamples) {
  for (int position = 1; position <= 30; ++position) {
    HistoryRun run = run_of(position, {});
    const double level = position < 17 ? 100 : 120;
    run.values = {{"a", kWall, false, 0, level + position % 3}};
    add(run);
  }
  auto steps = read_steps(open(SqlAccess::kRead), {}, std::nullopt, false);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ((*steps)[0].commit.position, 17);
  EXPECT_EQ((*steps)[0].before, 101);
  EXPECT_EQ((*steps)[0].after, 121);
  EXPECT_LE((*steps)[0].p, 0.01);
  const SqlDatabase database = open(SqlAccess::kRead);
  auto table = steps_table(database, *steps, {});
  ASSERT_TRUE(table);
  EXPECT_GOLDEN("history/step_of_times.txt", render(ReportFormat::kTable, {.tables = {*table}}));
}

TEST_F(History, SaysWhichFunctionsMovedAtAStep) {
  add(run_of(1, {{"a", 100}}));
  add(run_of(4, {{"a", 160}}));
  add(run_of(2, {{"a", 100}}));
  const SqlDatabase database = open(SqlAccess::kRead);
  auto steps = read_steps(database, {}, std::nullopt, false);
  ASSERT_TRUE(steps);
  auto table = steps_table(database, *steps, {});
  ASSERT_TRUE(table);
  EXPECT_GOLDEN("history/step_with_functions.txt",
                render(ReportFormat::kTable, {.tables = {*table}}));
  Document document;
  add_records(document, *table);
  EXPECT_GOLDEN("history/step_with_functions.jsonl", render(ReportFormat::kJsonl, document));
  auto since = read_steps(database, {}, commit(4).place(), false);
  ASSERT_TRUE(since);
  EXPECT_TRUE(since->empty());
}

TEST_F(History, WhatMayVaryIsSettledByTheFirstRun) {
  ASSERT_TRUE(record(open(), {run_of(1, {{"a", 1}})}, OnContradiction::kRefuse, {"libtorch"}));
  EXPECT_EQ(resolve_vary(open(), {}), (std::vector<std::string>{"libtorch"}));
  auto other = record(open(), {run_of(2, {{"a", 1}})}, OnContradiction::kRefuse, {"compiler"});
  ASSERT_FALSE(other);
  EXPECT_HAS(other.error().what, "may vary in libtorch");
}

// Real results: LibTorch 1.13, before and after a change.
class HistoryOfResults : public History {
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
  std::map<std::string, double> found;
  for (const RecordedStep& step : *steps) found[step.series.key] = step.after - *step.before;
  EXPECT_EQ(found, expected);
}

TEST_F(HistoryOfResults, CountsThatMayDifferFromRunToRunAreSamples) {
  add(recorded("before.jsonl", 1));
  const SqlDatabase database = open(SqlAccess::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM all_samples WHERE key LIKE '%/t2/%'"), 4);
  EXPECT_EQ(database.integer("SELECT count(*) FROM all_steps WHERE key LIKE '%/t2/%'"), 0);
}

TEST_F(HistoryOfResults, OlderThanTheirCommitAreNotItsOwn) {
  Commit late = commit(1);
  late.authored = *parse_time("2026-12-01T00:00:00Z");
  auto refused = make_run(results("before.jsonl"), late, "main", {}, false);
  ASSERT_FALSE(refused);
  EXPECT_HAS(to_string(refused.error()), "before commit");
  EXPECT_TRUE(make_run(results("before.jsonl"), late, "main", {}, true));
}

// Two writers, one of which is killed again and again in the middle of its work.
TEST_F(History, IsWholeAfterKillsBesideAnotherWriter) {
  std::map<std::string, double> many;
  for (int i = 0; i < 60; ++i) many[fmt::format("key {}", i)] = i + 20;
  open();
  constexpr int kBeside = 40;
  const pid_t beside = start_writer(10'000, 10'000 + kBeside, {{"b", 1}});
  for (int round = 1; round <= 12; ++round) {
    const pid_t killed = start_writer(round * 100, 1'000'000, many);
    usleep(25'000 * round);
    EXPECT_EQ(status_of(killed, SIGKILL), 128 + SIGKILL);
  }
  EXPECT_EQ(status_of(beside, 0), 0);
  EXPECT_EQ(status_of(start_writer(1, 2, many), 0), 0);
  const SqlDatabase database = open(SqlAccess::kRead);
  auto check = database.prepare("PRAGMA integrity_check");
  ASSERT_TRUE(check.start().step());
  EXPECT_EQ(check.text(0), "ok");
  EXPECT_EQ(database.integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  // Each run is there with all of its values, or not at all.
  EXPECT_EQ(database.integer("SELECT count(*) FROM runs WHERE commit_id IN (SELECT id FROM commits "
                             "WHERE position >= 10000)"),
            kBeside);
  EXPECT_EQ(database.integer("SELECT count(DISTINCT set_id) FROM runs"), 2);
  EXPECT_GT(database.integer("SELECT count(*) FROM runs"), kBeside);
}

}  // namespace
}  // namespace instr::history_test
