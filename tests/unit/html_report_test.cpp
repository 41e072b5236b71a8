#include <cmath>
#include <nlohmann/json.hpp>

#include "core/compare/compare.h"
#include "core/report/html_page.h"
#include "core/run/gate.h"
#include "tests/results_examples.h"
#include "tests/unit/history_testing.h"

namespace instr::html_report_test {
namespace {

using namespace testing;

using Values = std::vector<std::pair<std::string, double>>;  // a column's name, its value

Values values_of(const ReportData& data, const ReportSeries& series) {
  Values values;
  for (const ReportValue& one : series.values) {
    values.emplace_back(data.columns.at(one.column).name, one.value);
  }
  return values;
}

class HtmlReport : public HistoryTest {
 protected:
  ReportData report(const Acceptances& accepted = {}) const {
    return value_of(report_of_history(open(SqlAccess::kRead), {}, accepted));
  }
  static std::string name(int position) { return short_hash(commit(position).hash); }
};

TEST_F(HtmlReport, HasAColumnForEachCommitAndTheStepsOfEachSeries) {
  add(make_run(3, {{"a", 100}, {"b", 7}}));
  add(make_run(1, {{"a", 100}}));
  add(make_run(2, {{"a", 160}}));
  const ReportData data = report();
  ASSERT_EQ(data.columns.size(), 3U);
  EXPECT_EQ(data.columns[0].id, commit(1).hash);
  EXPECT_EQ(data.columns[2].subject, "commit 3");
  ASSERT_EQ(data.series.size(), 2U);
  const ReportSeries& a = data.series[data.series[0].key == "a" ? 0 : 1];
  const ReportSeries& b = data.series[data.series[0].key == "a" ? 1 : 0];
  EXPECT_EQ(values_of(data, a), (Values{{name(1), 100}, {name(2), 160}, {name(3), 100}}));
  EXPECT_EQ(values_of(data, b), (Values{{name(3), 7}}));
  EXPECT_TRUE(data.columns[0].runs[0].measured->contains(a.id));
  EXPECT_FALSE(data.columns[0].runs[0].measured->contains(b.id));
  ASSERT_EQ(a.changes.size(), 2U);
  EXPECT_EQ(a.changes[0].column, 1U);
  EXPECT_EQ(a.changes[0].change.before, 100);
  EXPECT_EQ(a.changes[0].change.after, 160);
  ASSERT_TRUE(a.changes[0].attribution);
  EXPECT_EQ(a.changes[0].attribution->parts.at(0).function, "grows");
  EXPECT_EQ(a.changes[0].attribution->parts.at(0).change, 60);
  ASSERT_TRUE(a.changes[0].trees);
  EXPECT_EQ(a.changes[0].trees->before.nodes[0].total, 100);
  EXPECT_EQ(a.changes[0].trees->after.nodes[0].total, 160);
}

TEST_F(HtmlReport, KnowsWhatWasAccepted) {
  add(make_run(1, {{"a", 100}}));
  add(make_run(2, {{"a", 160}}));
  add(make_run(3, {{"a", 170}}));
  const ReportData data = report({{"a", kInstructions, 100, 160, "", "Ada", "it is worth it"}});
  const auto& changes = data.series.at(0).changes;
  ASSERT_EQ(changes.size(), 2U);
  ASSERT_TRUE(changes[0].change.accepted);
  EXPECT_EQ(changes[0].change.accepted->why, "it is worth it");
  EXPECT_FALSE(changes[0].is_regression);
  EXPECT_FALSE(changes[1].change.accepted);
  EXPECT_TRUE(changes[1].is_regression);
}

TEST_F(HtmlReport, HasWhatFailedAtEachCommit) {
  HistoryRun run = make_run(1, {{"a", 100}});
  run.outcomes = {{"b", kFailedState, "crashed"}, {"c", kSkippedState, "needs CUDA"}};
  add(run);
  const ReportData data = report();
  ASSERT_EQ(data.outcomes.size(), 1U);
  EXPECT_EQ(data.outcomes[0].key, "b");
  EXPECT_EQ(data.outcomes[0].column, 0U);
  EXPECT_EQ(data.outcomes[0].reason, "crashed");
}

TEST_F(HtmlReport, SaysWhyALineBreaks) {
  add(make_run(1, {{"a", 100}}, "main", R"([["compiler","g++ 12"]])"));
  add(make_run(2, {{"a", 90}}, "main", R"([["compiler","g++ 13"]])"));
  const ReportData data = report();
  EXPECT_EQ(data.series.size(), 2U);
  ASSERT_EQ(data.breaks.size(), 1U);
  EXPECT_EQ(data.breaks[0].column, 1U);
  EXPECT_EQ(data.breaks[0].series, 1U);
  EXPECT_HAS(data.breaks[0].reasons.at(0), "g++ 13");
}

TEST_F(HtmlReport, KeepsEverySampleAndWhereTheyChanged) {
  for (int i = 1; i <= 20; ++i) {
    HistoryRun run = make_run(i, {});
    run.digest = std::to_string(i);
    const double level = 100.0 + (i > 10 ? 50 : 0);
    run.values.push_back({"a", kWall, false, 0, level, {level, level + 1, level + 2, level + 3}});
    add(run);
  }
  const ReportData data = report();
  ASSERT_EQ(data.series.size(), 1U);
  EXPECT_EQ(data.series[0].values.size(), 20U);
  ASSERT_EQ(data.series[0].changes.size(), 1U);
  EXPECT_EQ(data.series[0].changes[0].column, 10U);
  EXPECT_LE(data.series[0].changes[0].change.speedup->p, 0.1);
  EXPECT_FALSE(data.series[0].changes[0].is_regression);  // times have no limit by default
}

ResultSet recorded(const std::string& name) {
  return value_of(read_result_set(fixture("formats/" + name), name));
}

// Returns the rows of a table of the page's data.
nlohmann::json rows_of(const nlohmann::ordered_json& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [name, values] : table.items()) {
    for (std::size_t i = 0; i < values.size(); ++i) rows[i][name] = values[i];
  }
  return rows;
}

// Real results: LibTorch 1.13, before and after a change.
TEST(HtmlReportOfFiles, HasTheChangesThatCompareShows) {
  auto data =
      value_of(report_of_files({recorded("before.jsonl"), recorded("after.jsonl")}, {}, {}));
  auto comparison = value_of(compare(recorded("before.jsonl"), recorded("after.jsonl")));
  std::map<std::string, std::pair<double, std::size_t>> expected;  // with functions
  for (const ComparedRow& row : comparison.rows) {
    const bool is_exact = row.key.find("/t1/") != std::string::npos;
    if (!is_exact || row.ir_change() == 0) continue;
    expected[row.key] = {row.ir_change(), row.attribution ? row.attribution->parts.size() : 0};
  }
  EXPECT_FALSE(expected.empty());
  std::map<std::string, std::pair<double, std::size_t>> found;
  for (const ReportSeries& series : data.series) {
    if (series.metric != kInstructions || !series.is_exact) continue;
    for (const ReportChange& change : series.changes) {
      found[series.key] = {*change.change.change(),
                           change.attribution ? change.attribution->parts.size() : 0};
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(HtmlReportOfFiles, HasAllThatDidNotSucceed) {
  ResultSet set = results("a.jsonl", {counted("a", 5), failed("b"), skipped("c"), counted("d", 6)});
  set.results.header = example_header();
  set.results.measurements[3].verification = {VerificationCode::kFail, "another value"};
  auto data = value_of(report_of_files({set}, {}, {}));
  std::map<std::string, std::string> found;
  for (const ReportOutcome& outcome : data.outcomes)
    found[outcome.key] = outcome.state + ": " + outcome.reason;
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"b", "failed: crashed: ended by a signal"},
                                                       {"c", "skipped: needs CUDA"},
                                                       {"d", "FAIL: another value"}}));
}

TEST(HtmlReportOfFiles, DoNotJoinWhatWasMeasuredDifferently) {
  ResultSet old = results("a.jsonl", {counted("a", 5)});
  old.results.header = example_header();
  ResultSet now = results("b.jsonl", {counted("a", 9)});
  now.results.header = example_header();
  now.results.header.fingerprint.entries[2].second = "g++ 13";
  auto data = value_of(report_of_files({old, now}, {}, {}));
  for (const ReportSeries& series : data.series) EXPECT_TRUE(series.changes.empty());
  auto joined = value_of(report_of_files({old, now}, {"compiler"}, {}));
  EXPECT_EQ(joined.series.size() * 2, data.series.size());
}

// The statement, which calls `f` at that cost.
std::shared_ptr<const CallTree> make_tree(std::int64_t cost) {
  CallTree tree{1, {{kSnippetName, "", true}, {"f", "libuser.so", true}}, {}};
  tree.nodes = {{0, 0, 3, 0, 0}, {1, 0, cost, 0, 1}};
  sum_up(tree.nodes);
  return std::make_shared<const CallTree>(std::move(tree));
}

TEST(HtmlReportOfFiles, HasAFlameGraphWhereTheCallPathsAreKnown) {
  std::vector<ResultSet> files;
  for (const int cost : {5, 9}) {
    files.push_back(results(std::to_string(cost), {counted("a", 3 + cost), counted("b", cost)}));
    files.back().results.header = example_header();
    files.back().call_trees = by_key<std::shared_ptr<const CallTree>>({{"a", make_tree(cost)}});
  }
  auto data = value_of(report_of_files(files, {}, {}));
  const auto json = report_json(data);
  ASSERT_EQ(json.at("flames").size(), 1U);
  const auto graph = nlohmann::json::parse(json.at("flames").at(0).get<std::string>());
  EXPECT_EQ(graph.at("title"), "a");
  EXPECT_EQ(graph.at("before"), 8);
  EXPECT_EQ(graph.at("nodes").at(0).at(3), 12);
  const nlohmann::json series = rows_of(json.at("series"));
  std::map<std::string, nlohmann::json> flames;  // of the instructions of each key
  for (const auto& change : rows_of(json.at("changes"))) {
    const auto& one = series.at(change.at("series").get<std::size_t>());
    if (json.at("metrics").at("name").at(one.at("metric").get<std::size_t>()) != kInstructions)
      continue;
    flames[json.at("keys").at("key").at(one.at("key").get<std::size_t>())] = change.at("flame");
  }
  EXPECT_EQ(flames, (std::map<std::string, nlohmann::json>{{"a", 0}, {"b", nullptr}}));
}

// Options are words of a shell, each once.
TEST(HtmlReportPage, NamesTheDefinitionsOfSeries) {
  ReportData data;
  data.history = " --history=h.db";
  data.columns.push_back({"", "a.jsonl", "a.jsonl", 0, 0, "", {}});
  for (const char* key : {"a", "b"}) {
    data.series.push_back({{0, key, kInstructions, "", 0, true},
                           {{0, 5}},
                           {{.change = {kInstructions, 4, 5, {}, {}}, .other_candidates = 2}},
                           {"--definitions=our bench.toml", "--param=n=1"}});
  }
  const auto json = report_json(data);
  EXPECT_EQ(json.at("definitions"),
            nlohmann::json({" '--definitions=our bench.toml' --param=n=1"}));
  EXPECT_EQ(json.at("history"), " --history=h.db");
  EXPECT_EQ(json.at("series").at("definitions"), nlohmann::json({0, 0}));
  EXPECT_EQ(json.at("changes").at("others"), nlohmann::json({2, 2}));
}

TEST(HtmlReportPage, NamesWhatKeysAreFilteredBy) {
  ReportData data;
  data.columns.push_back({"", "a.jsonl", "a.jsonl", 0, 0, "", {}});
  data.series.push_back({{0, "matmul/mm/dtype=float64/py/inductor/forward_backward/t2/cuda",
                          kInstructions, "", 0, true},
                         {{0, 5}},
                         {}});
  const auto json = report_json(data);
  std::map<std::string, std::string> found;
  for (const auto& facet : json.at("facets")) {
    const std::string name = facet.at("name");
    found[name] = facet.at("values").at(json.at("keys").at(name).at(0).get<std::size_t>());
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"suite", "matmul"},
                                                       {"language", "py"},
                                                       {"backend", "inductor"},
                                                       {"test", "train"},
                                                       {"dtype", "float64"},
                                                       {"device", "cuda"},
                                                       {"threads", "2"}}));
}

// The figures that the page averages: it sums logarithms, and computes none.
TEST(HtmlReportPage, HasTheFiguresThatItAverages) {
  const std::string end = "/forward/t1/cpu";
  std::vector<ResultSet> files;
  for (const double factor : {1.0, 2.0}) {
    const auto times = [](double wall, double ready) {
      return std::map<std::string, double>{
          {kInstructions, wall}, {kWall, wall}, {kReadyTime, ready}};
    };
    files.push_back(
        results(std::to_string(factor),
                {counted("a/eager" + end, times(100 * factor, 0)),
                 counted("a/inductor" + end, times(40, 1040)),
                 verified(counted("b/inductor" + end, times(10, 5)), VerificationCode::kFail)}));
    files.back().results.header = example_header();
  }
  const auto data = value_of(report_of_files(files, {}, {}));
  std::map<std::pair<std::string, std::string>, const ReportSeries*> found;
  for (const ReportSeries& series : data.series) found[{series.key, series.metric}] = &series;
  const ReportSeries& eager = *found.at({"a/eager" + end, kInstructions});
  const ReportSeries& inductor = *found.at({"a/inductor" + end, kInstructions});
  ASSERT_EQ(eager.logs.size(), 1U);
  EXPECT_NEAR(eager.logs[0], std::log(2.0), 1e-12);
  EXPECT_EQ(inductor.logs, std::vector<double>{});  // the count did not change
  EXPECT_EQ(inductor.last, 1U);
  EXPECT_FALSE(eager.against_eager);
  EXPECT_NEAR(*inductor.against_eager, std::log(200.0 / 40), 1e-12);
  ASSERT_EQ(data.backends.size(), 2U);
  EXPECT_EQ(data.backends[0].compile_time, 1000);
  ASSERT_EQ(data.backends[0].speedups.size(), 2U);
  EXPECT_NEAR(data.backends[0].speedups[0].second, std::log(100.0 / 40), 1e-12);
  EXPECT_NEAR(data.backends[0].speedups[1].second, std::log(200.0 / 40), 1e-12);
  EXPECT_TRUE(data.backends[1].speedups.empty());  // there is no eager variant
  EXPECT_EQ(data.backends[1].compile_time, 0);     // never below 0
}

// Times in units of eager's in the same rounds come first, and a failure has no speed-up.
TEST(HtmlReportPage, TakesTheRoundsOfEagerAndNoFailures) {
  std::vector<ResultSet> files;
  for (const auto code : {VerificationCode::kPass, VerificationCode::kFail}) {
    files.push_back(results(to_string(code), {counted("a/eager/forward/t1/cpu", {{kWall, 100}}),
                                              verified(counted("a/inductor/forward/t1/cpu",
                                                               {{kWall, 40}, {kRelativeWall, 0.5}}),
                                                       code)}));
    files.back().results.header = example_header();
  }
  const auto data = value_of(report_of_files(files, {}, {}));
  ASSERT_EQ(data.backends.size(), 1U);
  ASSERT_EQ(data.backends[0].speedups.size(), 1U);
  EXPECT_EQ(data.backends[0].speedups[0].first, 0U);
  EXPECT_NEAR(data.backends[0].speedups[0].second, std::log(2.0), 1e-12);
}

TEST(HtmlReportPage, NoTextEndsItsElement) {
  ReportData data;
  data.title = "</script><script>alert(1)</script>";
  data.columns.push_back({"", "a", "a", 0, 0, data.title, {}});
  const std::string page = report_page(data, "2026-01-02T03:04:05Z");
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_HAS(page, "\\u003c/script>\\u003cscript>alert(1)");
  EXPECT_HAS(page, "default-src 'none'");
}

}  // namespace
}  // namespace instr::html_report_test
