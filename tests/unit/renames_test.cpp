// Benchmarks that have another name: found in comparisons and in a history, and joined there.
#include "core/compare/renames.h"

#include "compare_testing.h"
#include "core/compare/compare_report.h"
#include "core/history/history_report.h"
#include "core/history/prune.h"
#include "core/history/renames.h"
#include "history_testing.h"

namespace instr::renames_test {
namespace {

using namespace instr::testing;
using Functions = std::map<std::string, std::vector<FunctionCost>>;
using Renames = std::vector<Rename>;

constexpr const char* kEager = "/eager/forward/t1/cpu";

std::string key(const std::string& label) { return label + kEager; }

// Benchmarks with two functions: what is their own, and what all of them call.
struct Suite {
  std::vector<NamedCount> counts;
  Functions functions;

  Suite& add(const std::string& name, double ir, const std::string& function, double common = 10) {
    counts.push_back({name, ir});
    functions[name] = {{function, "libuser.so", ir - common, 1}, {"common", "libc.so", common, 1}};
    return *this;
  }
};

Renames found(const Suite& gone, const Suite& come) {
  auto renames = find_renames(gone.counts, come.counts, functions_from(gone.functions),
                              functions_from(come.functions));
  EXPECT_TRUE(renames) << to_string(renames.error());
  return renames.value_or(Renames{});
}

TEST(Renames, AreOfEqualCountsAndFunctions) {
  Suite gone;
  Suite come;
  gone.add(key("a"), 1000, "f").add(key("b"), 2000, "g");
  come.add(key("new b"), 2000, "g").add(key("new a"), 1000, "f").add(key("c"), 3000, "h");
  EXPECT_EQ(found(gone, come), (Renames{{key("a"), key("new a")}, {key("b"), key("new b")}}));
}

TEST(Renames, MayDifferSlightly) {
  const Suite gone = Suite().add(key("a"), 1000, "f");
  EXPECT_EQ(found(gone, Suite().add(key("b"), 1009, "f")).size(), 1u);
  EXPECT_EQ(found(gone, Suite().add(key("b"), 991, "f")).size(), 1u);
  EXPECT_TRUE(found(gone, Suite().add(key("b"), 1011, "f")).empty());
  EXPECT_EQ(found(gone, Suite().add(key("b"), 1000, "f", 30)).size(), 1u);
  EXPECT_TRUE(found(gone, Suite().add(key("b"), 1000, "f", 60)).empty());
  EXPECT_TRUE(found(gone, Suite().add(key("b"), 1000, "other")).empty());
}

TEST(Renames, AreOfferedOnlyIfThereIsNoOther) {
  const Suite gone = Suite().add(key("a"), 1000, "f");
  // An equal one comes before those that are nearly so; of two equal ones neither is it.
  EXPECT_EQ(found(gone, Suite().add(key("b"), 1001, "f").add(key("c"), 1000, "f")),
            (Renames{{key("a"), key("c")}}));
  EXPECT_TRUE(found(gone, Suite().add(key("b"), 1000, "f").add(key("c"), 1000, "f")).empty());
  EXPECT_TRUE(found(gone, Suite().add(key("b"), 1001, "f").add(key("c"), 1002, "f")).empty());
  EXPECT_TRUE(
      found(Suite(gone).add(key("b"), 1000, "f"), Suite().add(key("c"), 1000, "f")).empty());
  // Of many that are near, too.
  Suite many;
  for (int i = 0; i < 30; ++i) many.add(key(fmt::format("c{}", i)), 1000, fmt::format("f{}", i));
  EXPECT_TRUE(found(Suite().add(key("a"), 1000, "f7"), many).empty());
}

TEST(Renames, AreOfTheSameKind) {
  const Suite gone = Suite().add("a/n=4/eager/forward/t1/cpu", 1000, "f");
  for (const char* other :
       {"b/n=4/torchscript/forward/t1/cpu", "b/n=4/eager/forward_backward/t1/cpu",
        "b/n=4/eager/forward/t2/cpu", "b/n=4/py/eager/forward/t1/cpu"}) {
    EXPECT_TRUE(found(gone, Suite().add(other, 1000, "f")).empty()) << other;
  }
  EXPECT_EQ(found(gone, Suite().add("b/m=5/eager/forward/t1/cpu", 1000, "f")).size(), 1u);
}

TEST(Renames, NeedFunctions) {
  const Suite gone = Suite().add(key("a"), 1000, "f");
  const Suite come = Suite().add(key("b"), 1000, "f");
  EXPECT_TRUE(find_renames(gone.counts, come.counts, {}, functions_from(come.functions))->empty());
  EXPECT_TRUE(
      find_renames(gone.counts, come.counts, functions_from({}), functions_from({}))->empty());
}

// A comparison of `a`, which is `b` after, `ir` instructions more expensive.
Comparison renamed_comparison(double more, const CompareOptions& options = {}) {
  const Suite gone = Suite().add(key("a"), 1000, "f");
  const Suite come = Suite().add(key("b"), 1000 + more, "f");
  ResultSet first = before({counted(key("a"), 1000), counted(key("same"), 5)});
  ResultSet second = after({counted(key("b"), 1000 + more), counted(key("same"), 5)});
  first.functions = functions_from(gone.functions);
  second.functions = functions_from(come.functions);
  auto comparison = compare(first, second, options);
  EXPECT_TRUE(comparison) << to_string(comparison.error());
  return comparison.value_or(Comparison{});
}

TEST(Renames, AreOneRowOfAComparison) {
  const Comparison comparison = renamed_comparison(9);
  ASSERT_EQ(comparison.rows.size(), 2u);
  const ComparedRow& row = comparison.rows[0];
  EXPECT_EQ(row.key, key("a"));
  EXPECT_EQ(row.renamed_to, key("b"));
  EXPECT_EQ(row.state, RowState::kRenamed);
  EXPECT_EQ(row.verdict, Verdict::kFails);
  EXPECT_EQ(row.ir_change(), 9);
  ASSERT_TRUE(row.attribution);
  EXPECT_EQ(row.attribution->parts[0].function, "f");
  EXPECT_NE(row.reason.find(key("b")), std::string::npos);
  const auto json = nlohmann::json::parse(compare_json(comparison));
  EXPECT_EQ(json.at("rows").at(0).at("state"), "renamed");
  EXPECT_EQ(json.at("rows").at(0).at("renamed_to"), key("b"));
}

TEST(Renames, PassOnlyWhereWhatGoesMay) {
  CompareOptions options;
  options.allow_missing = true;
  EXPECT_EQ(renamed_comparison(0, options).verdict, Verdict::kWarns);
  EXPECT_EQ(renamed_comparison(9, options).verdict, Verdict::kFails);  // beyond the limit
  options.allow_new = false;
  EXPECT_EQ(renamed_comparison(0, options).verdict, Verdict::kFails);
}

using RenamesOfAHistory = HistoryTest;
using Points = std::vector<std::pair<int, double>>;

TEST_F(RenamesOfAHistory, AreOfferedWhereOneGoesAndAnotherComes) {
  add(run_of(1, {{key("a"), 1000}, {key("b"), 500}, {key("z"), 700}}));
  add(run_of(2, {{key("a"), 1200}, {key("b"), 500}, {key("z"), 700}}));
  add(run_of(3, {{key("b"), 500}, {key("z"), 700}, {key("c"), 1200}}));  // no `a`, but `c`
  add(run_of(4, {{key("b"), 500}, {key("c"), 1200}}));                   // no `z`
  add(run_of(5, {{key("b"), 500}, {key("c"), 1200}}));
  add(run_of(6, {{key("b"), 500}, {key("c"), 1200}, {key("y"), 700}}));  // later than `z` went
  const auto renames = read_renames(open(SqlAccess::kRead), {});
  ASSERT_TRUE(renames) << to_string(renames.error());
  ASSERT_EQ(renames->size(), 1u);
  EXPECT_EQ((*renames)[0].names, (Rename{key("a"), key("c")}));
  EXPECT_EQ((*renames)[0].commit.position, 3);
  EXPECT_NE(rename_lines(*renames)[0].find("history rename " + key("a") + " " + key("c")),
            std::string::npos);
  const auto none = read_renames(open(SqlAccess::kRead), {{}, {}, "other"});
  EXPECT_TRUE(none && none->empty());
}

TEST_F(RenamesOfAHistory, AreNotOfWhatWasNotMeasuredForAWhile) {
  add(run_of(1, {{key("c"), 1000}}));
  add(run_of(2, {{key("a"), 1000}}));  // `c` comes back, and has been there before
  add(run_of(3, {{key("c"), 1000}}));
  const auto renames = read_renames(open(SqlAccess::kRead), {});
  EXPECT_TRUE(renames && renames->empty());
}

TEST_F(RenamesOfAHistory, JoinTheSeries) {
  add(run_of(1, {{key("a"), 1000}, {key("b"), 500}}));
  add(run_of(2, {{key("a"), 1200}, {key("b"), 500}}));
  add(run_of(3, {{key("c"), 1200}, {key("b"), 500}}));
  add(run_of(4, {{key("a"), 1200}, {key("b"), 500}}));  // and back, for a commit
  add(run_of(5, {{key("c"), 1300}, {key("b"), 500}}));
  HistoryRun times = run_of(3, {});
  times.digest = "times";
  times.values = {{key("a"), kWall, false, 0, 2}};
  add(times);
  auto renamed = rename(open(), {key("a"), key("c")});
  ASSERT_TRUE(renamed) << to_string(renamed.error());
  EXPECT_EQ(renamed->series, 2u);
  EXPECT_EQ(renamed->joined, 1u);
  EXPECT_EQ(steps_of(key("a")), Points{});
  EXPECT_EQ(steps_of(key("c")), (Points{{1, 1000}, {2, 1200}, {5, 1300}}));
  EXPECT_EQ(steps_of(key("b")), (Points{{1, 500}}));
  const SqlDatabase database = open();
  EXPECT_EQ(database.integer("SELECT count(*) FROM keys"), 2);
  EXPECT_EQ(database.integer("SELECT count(*) FROM profiles"), 4);
  EXPECT_EQ(database.integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  auto series = read_series(database, {});
  ASSERT_TRUE(series);
  for (const SeriesSummary& one : *series) {
    EXPECT_EQ(one.measured, one.series.is_exact ? 5u : 1u) << one.series.key;
  }
  // What is added later splits steps as it must.
  HistoryRun between = run_of(4, {{key("c"), 1200}});
  EXPECT_EQ(add(between).steps, 0u);
}

TEST_F(RenamesOfAHistory, AreRefusedOfTwoThatWereMeasuredAtOnce) {
  add(run_of(1, {{key("a"), 1000}}));
  add(run_of(2, {{key("a"), 1000}, {key("b"), 1000}}));
  auto both = rename(open(), {key("a"), key("b")});
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().what.find("two benchmarks"), std::string::npos) << both.error().what;
  EXPECT_EQ(steps_of(key("a")), (Points{{1, 1000}}));
  EXPECT_FALSE(rename(open(), {key("x"), key("b")}));
  EXPECT_FALSE(rename(open(), {key("a"), key("a")}));
  auto new_name = rename(open(), {key("a"), key("c")});
  ASSERT_TRUE(new_name);
  EXPECT_EQ(new_name->series, 1u);
  EXPECT_EQ(steps_of(key("c")), (Points{{1, 1000}}));
}

}  // namespace
}  // namespace instr::renames_test
