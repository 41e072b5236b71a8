// The content of a history does not depend on the order in which its commits come.

#include <algorithm>

#include "core/history/profiles.h"
#include "core/history/recording.h"
#include "tests/unit/history_faults.h"

namespace instr::history_order_test {
namespace {

using namespace testing;

using HistoryOrder = HistoryFaults;

// Returns the steps of these values.
Points changes_of(const std::map<int, double>& values) {
  Points points;
  for (const auto& [position, value] : values) {
    if (points.empty() || points.back().second != value) points.emplace_back(position, value);
  }
  return points;
}

using Truth = std::map<std::string, std::map<int, double>>;

// Returns runs of some of three keys at each commit, and adds their values to `truth`.
std::vector<HistoryRun> random_runs(std::mt19937& random, Truth& truth) {
  std::vector<HistoryRun> runs;
  for (int position = 1; position <= 12; ++position) {
    std::map<std::string, double> values;
    for (const char* key : {"a", "b", "c"}) {
      if (random() % 4 == 0) continue;  // not measured
      values[key] = truth[key][position] = 100 + random() % 3;
    }
    runs.push_back(make_run(position, values));
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
    double sum = 0;
    for (const auto& function : profiles.read(step.series.id, step.commit_id)) sum += function.ir;
    EXPECT_EQ(sum, step.change.after);
    const auto tree = profiles.read_call_tree(step.series.id, step.commit_id);
    ASSERT_TRUE(tree);
    EXPECT_EQ(static_cast<double>(tree->nodes[0].total), step.change.after);
    EXPECT_EQ(tree->code_of(tree->nodes[2]).function, "in a tree");
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM steps"),
            database.integer("SELECT count(*) FROM profiles"));
}

// Returns the value at each measured commit, as an export has it.
Truth points_of(const SqlDatabase& database) {
  Truth points;
  EXPECT_TRUE(for_each_point(database, {}, [&points](const HistoryPoint& point) {
    points[point.series.key][static_cast<int>(point.commit.position)] = point.value;
    return true;
  }));
  return points;
}

TEST_F(HistoryOrder, DoesNotDependOnTheOrderOfAdding) {
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

TEST_F(HistoryOrder, MergesTwoIntoTheSameAsAddingAll) {
  std::mt19937 random(17);
  Truth truth;
  const std::vector<HistoryRun> runs = random_runs(random, truth);
  const std::filesystem::path other_file = folder_.path() / "other.db";
  {
    auto other = open_history(other_file, SqlAccess::kCreate);
    ASSERT_TRUE(other);
    const std::vector<HistoryRun> half(runs.begin() + 5, runs.end());
    ASSERT_TRUE(record(*other, half, OnContradiction::kRefuse));
    HistoryRun times = make_run(3, {});
    times.digest = "times";
    times.values = {{"t", kWall, false, 0, 12.5, {12, 13}}};
    ASSERT_TRUE(record(*other, {times}, OnContradiction::kRefuse));
  }
  for (std::size_t i = 0; i < 7; ++i) add(runs[i]);  // two of them are in both
  for (const std::size_t known : {2, 8}) {
    auto other = value_of(open_history(other_file, SqlAccess::kRead));
    auto merged = value_of(record(open(), *read_runs(other), OnContradiction::kRefuse));
    EXPECT_EQ(merged.known_runs, known);
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

TEST_F(HistoryOrder, PruningKeepsLaterCommits) {
  std::mt19937 random(5);
  for (int first = 1; first <= 13; ++first) {
    std::filesystem::remove_all(file().parent_path());
    Truth truth;
    for (const HistoryRun& run : random_runs(random, truth)) add(run);
    auto pruned = value_of(prune(open(), commit(first).place(), std::nullopt));
    EXPECT_EQ(pruned.runs, static_cast<std::size_t>(first - 1));
    for (auto& [key, values] : truth) values.erase(values.begin(), values.lower_bound(first));
    std::erase_if(truth, [](const auto& entry) { return entry.second.empty(); });
    EXPECT_EQ(points_of(open(SqlAccess::kRead)), truth);
    for (const auto& [key, values] : truth) EXPECT_EQ(steps_of(key), changes_of(values)) << key;
    expect_own_functions(open(SqlAccess::kRead));
    EXPECT_EQ(open().integer("SELECT count(*) FROM commits"), 13 - first);
    EXPECT_EQ(open().integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }
}

TEST_F(HistoryOrder, PruningRemovesUnusedNames) {
  for (const int position : {1, 2, 3}) {
    HistoryRun run = make_run(position, {{"a", 100.0 + position}});
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

// A commit was amended after it was measured: git has only the new commit, in the same place.
TEST_F(HistoryOrder, KeepsARewrittenCommitBesideTheNewOne) {
  add(make_run(1, {{"a", 20}}));
  add(make_run(3, {{"a", 20}}));
  HistoryRun old_run = make_run(2, {{"a", 30}});
  old_run.commit.hash = std::string(40, 'e');
  HistoryRun new_run = make_run(2, {{"a", 40}});
  new_run.commit.hash = std::string(40, '1');
  add(old_run);
  add(new_run);
  const std::vector<std::tuple<std::string, std::string, double>> all{
      {"a", commit(1).hash, 20},
      {"a", new_run.commit.hash, 40},
      {"a", old_run.commit.hash, 30},
      {"a", commit(3).hash, 20}};
  EXPECT_EQ(points(), all);
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 40}, {2, 30}, {3, 20}}));
  for (const Use& use : uses()) {
    if (use.access != SqlAccess::kRead) continue;
    EXPECT_TRUE(use.try_on(file())) << use.name;
  }
}

// Two runs of a commit, recorded in another order than their times.
TEST_F(HistoryOrder, DoesNotDependOnClocks) {
  const auto timed = [](int position, const char* started, double value) {
    HistoryRun run = make_run(position, {{"a", 20.0 + position}});
    run.started = started;
    run.digest += started;
    run.values.push_back({"t", kWall, false, 0, value});
    return run;
  };
  std::vector<HistoryRun> runs{timed(2, "2026-01-01T00:00:00Z", 3),
                               timed(2, "2025-01-01T00:00:00Z", 2),
                               timed(1, "2027-01-01T00:00:00Z", 1)};
  const std::vector<std::tuple<std::string, std::string, double>> all{{"a", commit(1).hash, 21},
                                                                      {"a", commit(2).hash, 22},
                                                                      {"t", commit(1).hash, 1},
                                                                      {"t", commit(2).hash, 2},
                                                                      {"t", commit(2).hash, 3}};
  for (int round = 0; round < 2; ++round) {
    fs::remove(file());
    for (const HistoryRun& run : runs) add(run);
    EXPECT_EQ(points(), all);
    const auto data = value_of(report_of_history(open(SqlAccess::kRead), {}, {}));
    ASSERT_EQ(data.columns.size(), 2u);
    EXPECT_GT(data.columns[0].time, data.columns[1].time);
    EXPECT_EQ(data.columns[0].position, 1);
    const auto steps = value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].change.before, 21);
    EXPECT_EQ(steps[0].change.after, 22);
    std::reverse(runs.begin(), runs.end());
  }
}

// --- Commits left behind ---

using CommitsLeftBehind = HistoryTest;
using Places = std::vector<std::pair<int, double>>;

std::set<std::string> line_of(const std::vector<int>& positions) {
  std::set<std::string> line;
  for (const int position : positions) line.insert(commit(position).hash);
  return line;
}

TEST_F(CommitsLeftBehind, CommitsAreMovedWithTheirValues) {
  for (const auto& [position, value] : Places{{1, 100}, {2, 150}, {3, 150}, {5, 120}, {6, 120}}) {
    add(make_run(position, {{"a", value}, {"same", 7}}));
  }
  EXPECT_EQ(steps_of("a"), (Places{{1, 100}, {2, 150}, {5, 120}}));
  // 2 and 5 are no longer first parents of 6.
  EXPECT_EQ(value_of(move_left_behind(open(), "main", commit(6), line_of({1, 3, 4, 6}))), 2u);
  EXPECT_EQ(steps_of("a"), (Places{{1, 100}, {3, 150}, {6, 120}}));
  EXPECT_EQ(steps_of("same"), (Places{{1, 7}}));
  EXPECT_EQ(steps_of("a", "main/left-behind"), (Places{{2, 150}, {5, 120}}));
  EXPECT_EQ(steps_of("same", "main/left-behind"), (Places{{2, 7}}));
  // A second call moves nothing.
  EXPECT_EQ(value_of(move_left_behind(open(), "main", commit(6), line_of({1, 3, 4, 6}))), 0u);
}

TEST_F(CommitsLeftBehind, CommitsAreMovedWithTheirFunctions) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(2, {{"a", 150}}));
  add(make_run(3, {{"a", 150}}));
  ASSERT_TRUE(move_left_behind(open(), "main", commit(3), line_of({1, 3})));
  add(make_run(1, {{"a", 100}}, "main/left-behind"));
  const SqlDatabase database = open(SqlAccess::kRead);
  for (const std::string branch : {"main", "main/left-behind"}) {
    auto steps = value_of(read_steps(database, {{}, {}, branch}, std::nullopt, false));
    ASSERT_EQ(steps.size(), 1u) << branch;
    StepFunctions functions(database);
    const auto attribution = value_of(functions.attribute(steps[0]));
    ASSERT_EQ(attribution.parts.size(), 1u);
    EXPECT_EQ(attribution.parts[0].function, "grows");
    EXPECT_EQ(attribution.parts[0].change, 50);
  }
}

using RenamedBranches = HistoryTest;

TEST_F(RenamedBranches, KeepTheirSeries) {
  for (const int position : {1, 2}) add(make_run(position, {{"a", 100}}, "master"));
  add(make_run(1, {{"a", 100}}, "old"));
  add(make_run(7, {{"a", 100}}, "elsewhere"));
  add(make_run(3, {{"a", 100}}, "master/left-behind"));
  const auto former = [this](const std::string& branch) {
    return value_of(find_former_name(open(), branch, line_of({1, 2, 3, 4})));
  };
  EXPECT_EQ(former("main"), "master");
  EXPECT_EQ(former("old"), std::nullopt);
  ASSERT_TRUE(rename_branch(open(), "master", "main"));
  EXPECT_EQ(former("main"), std::nullopt);
  add(make_run(4, {{"a", 397}}, "main"));
  EXPECT_EQ(steps_of("a"), (Places{{1, 100}, {4, 397}}));
  EXPECT_EQ(steps_of("a", "main/left-behind"), (Places{{3, 100}}));
}

TEST_F(CommitsLeftBehind, TheFirstCommitsOfASeriesCanBeLeft) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(2, {{"a", 150}, {"b", 1}}));
  EXPECT_EQ(value_of(move_left_behind(open(), "main", commit(2), line_of({2}))), 1u);
  EXPECT_EQ(steps_of("a"), (Places{{2, 150}}));
  EXPECT_EQ(value_of(move_left_behind(open(), "main", commit(2), line_of({}))), 1u);
  EXPECT_EQ(steps_of("a"), Places{});
  EXPECT_EQ(steps_of("a", "main/left-behind"), (Places{{1, 100}, {2, 150}}));
}

// Commits after the recorded commit are kept, since they cannot be among its first parents.
TEST_F(CommitsLeftBehind, LaterCommitsStay) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(4, {{"a", 150}}));
  EXPECT_EQ(value_of(move_left_behind(open(), "main", commit(2), line_of({1, 2}))), 0u);
  EXPECT_EQ(value_of(move_left_behind(open(), "other", commit(2), line_of({}))), 0u);
  EXPECT_EQ(steps_of("a"), (Places{{1, 100}, {4, 150}}));
}

}  // namespace
}  // namespace instr::history_order_test
