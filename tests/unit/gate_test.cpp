#include "core/run/gate.h"

#include "core/results/result_set.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::gate_test {
namespace {

using namespace testing;

Expected<std::vector<FieldDifference>> check(const ResultsHeader& before,
                                             const ResultsHeader& after,
                                             const std::vector<std::string>& vary) {
  Reference reference;
  reference.set.results.header = before;
  return check_comparable(reference, after, vary);
}

ResultsHeader measured_with(Fingerprint::Entries entries) {
  ResultsHeader header;
  header.fingerprint.entries = std::move(entries);
  return header;
}

TEST(Gate, DifferencesAreNamedWithTheOptionsThatAllowThem) {
  auto before = measured_with({{"libtorch_version", "1.13.1"},
                               {"libtorch_build_id", "aa"},
                               {"flags", "-std=c++17"},
                               {"compiler", "clang 14"}});
  auto after = measured_with({{"libtorch_version", "2.13.0"},
                              {"libtorch_build_id", "bb"},
                              {"flags", "-std=c++20"},
                              {"compiler", "clang 14"}});
  auto refused = check(before, after, {});
  ASSERT_FALSE(refused);
  EXPECT_GOLDEN("gate/measured_differently.txt", to_string(refused.error()) + "\n");
  EXPECT_EQ(value_of(check(before, after, {"libtorch"})).size(), 3u);
  after.fingerprint.entries[3].second = "g++ 12";
  refused = check(before, after, {});
  ASSERT_FALSE(refused);
  EXPECT_GOLDEN("gate/measured_with_another_compiler.txt", to_string(refused.error()) + "\n");
}

TEST(Gate, AMissingBaselineIsAnError) {
  GateOptions gate;
  EXPECT_FALSE(value_of(find_reference(gate, {}, {})));
  gate.baseline = "no such baseline";
  EXPECT_FALSE(find_reference(gate, {}, {}));
}

TEST(Gate, OnlyExpectedMetricsAreCompared) {
  Reference expected;
  expected.is_expected = true;
  expected.set = testing::before(
      {counted("a", {{"instructions", 100.0}}), counted("b", {{"instructions", 100.0}})});
  expected.margins["a"].hard["instructions"] = Limit{std::nullopt, 10};
  auto comparison =
      compare_with(expected, testing::after({counted("a", 111), counted("b", 100)}), {});
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->verdict, Verdict::kFails);
  EXPECT_EQ(comparison->rows[0].key, "a");
  EXPECT_EQ(comparison->rows[0].metrics.size(), 1u);
  EXPECT_EQ(comparison->summary.count(RowState::kSame), 1u);
  comparison = compare_with(expected, testing::after({counted("a", 110), counted("b", 100)}), {});
  EXPECT_NE(comparison->verdict, Verdict::kFails);
  // Expected counts have no fingerprint.
  EXPECT_TRUE(check_comparable(expected, measured_with({{"compiler", "any"}}), {}));
}

TEST(Gate, ALimitOfAnUnmeasuredMetricIsAnError) {
  Gate gate;
  gate.compare.limits.hard["d1_misses"] = Limit{1, std::nullopt};
  Reference before;
  before.set = testing::before({counted("a", 100)});
  EXPECT_EQ(error_text(compare_with(before, testing::after({counted("a", 100)}), gate)),
            "there is a limit for d1_misses, but no result has it: measure both with "
            "--metrics=instructions,d1_misses");
  auto after = testing::after({counted("a", {{"instructions", 100.0}, {"d1_misses", 2.0}})});
  EXPECT_TRUE(compare_with(before, after, gate));
}

LimitsFile limits_of_a(double percent) {
  LimitsEntry entry{{Text{"^a", {}}}, {}};
  entry.limits.hard["instructions"] = Limit{percent, std::nullopt};
  return {entry};
}

TEST(Gate, LimitsOfTheBaseApply) {
  Gate gate;
  gate.limits_file = limits_of_a(90);
  gate.base_limits_file = limits_of_a(20);
  Reference before;
  before.set = testing::before({counted("a", 100)});
  auto comparison = value_of(compare_with(before, testing::after({counted("a", 140)}), gate));
  EXPECT_EQ(comparison.verdict, Verdict::kFails);
  EXPECT_EQ(
      comparison.problems,
      std::vector<std::string>{
          "the limit of instructions is changed from 20% to 90% (20% holds), for 1 benchmark: a"});
}

// Writes results and their functions, as a run does, and reads them.
Expected<ResultSet> through_a_file(const fs::path& folder, const Measurement& measurement) {
  write_results(folder / "r.jsonl", make_results_header({}, {}), {measurement});
  return read_result_set(folder / "r.jsonl", "r");
}

TEST(Gate, ACountThatIsNotTheSumOfItsFunctionsWasEdited) {
  const TemporaryFolder folder;
  Measurement measurement = counted("a/b", 1000);
  auto& counted = std::get<Counted>(measurement.outcome);
  counted.functions = {{"f", "x.so", 2000.25, 1}, {"g", "x.so", 474.75, 1}};
  auto refused = through_a_file(folder.path(), measurement);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where.file, folder.path() / "r.jsonl");
  EXPECT_EQ(refused.error().what, "`a/b` has 1000 instructions, and its functions, in " +
                                      (folder.path() / "r.jsonl.profiles.jsonl.gz").string() +
                                      ", have 2475 together");
  counted.functions[0].ir = 525.25;
  EXPECT_TRUE(through_a_file(folder.path(), measurement));
}

TEST(Gate, ACountThatIsNotTheSumOfItsCallPathsWasEdited) {
  const TemporaryFolder folder;
  Measurement measurement = counted("a/b", 1000);
  for (const std::int64_t self : {10'000, 9'990}) {
    std::get<Counted>(measurement.outcome).call_tree = std::make_shared<const CallTree>(
        CallTree{10, {{kSnippetName, "unit", true}}, {{0, 0, self, 0, 0}}});
    auto set = value_of(through_a_file(folder.path(), measurement));
    auto tree = set.call_trees("a/b");
    ASSERT_EQ(tree.has_value(), self == 10'000);
    if (tree) continue;
    EXPECT_EQ(tree.error().what, "`a/b` has 1000 instructions, and its call paths, in " +
                                     (folder.path() / "r.jsonl.profiles.jsonl.gz").string() +
                                     ", have 999 together");
  }
}

TEST(Gate, LimitsByPatternApplyAndUnusedPatternsWarn) {
  Gate gate;
  LimitsEntry loose{{Text{"^a", {}}}, {}};
  loose.limits.hard["instructions"] = Limit{50, std::nullopt};
  LimitsEntry nowhere{{Text{"^zzz", {"limits.toml", 7, 9}}}, {}};
  nowhere.limits.hard["instructions"] = Limit{50, std::nullopt};
  gate.limits_file = {loose, nowhere};
  Reference before;
  before.set = testing::before({counted("a", 100), counted("b", 100)});
  auto comparison =
      compare_with(before, testing::after({counted("a", 140), counted("b", 100)}), gate);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->verdict, Verdict::kWarns);
  ASSERT_EQ(comparison->problems.size(), 1u);
  EXPECT_EQ(comparison->problems[0].find("limits.toml:7:9: "), 0u);
  comparison = compare_with(before, testing::after({counted("a", 100), counted("b", 140)}), gate);
  EXPECT_EQ(comparison->verdict, Verdict::kFails);
}

}  // namespace
}  // namespace instr::gate_test
