#include <gtest/gtest.h>

#include "core/history/profiles.h"
#include "core/history/recording.h"
#include "core/report/history_tables.h"
#include "tests/unit/history_testing.h"

namespace instr::left_behind_test {
namespace {

using namespace testing;

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
    const auto attribution = functions.attribute(steps[0]);
    ASSERT_TRUE(attribution) << branch;
    ASSERT_EQ(attribution->parts.size(), 1u);
    EXPECT_EQ(attribution->parts[0].function, "grows");
    EXPECT_EQ(attribution->parts[0].change, 50);
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
}  // namespace instr::left_behind_test
