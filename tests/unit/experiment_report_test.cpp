#include "core/report/experiment_report.h"

#include <nlohmann/json.hpp>

#include "core/report/backend_summary.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

namespace instr::experiment_report_test {
namespace {

using namespace testing;

// An experiment of "SUITE/MODEL" whose times differ by little.
Measurement timed(const std::string& suite, const std::string& model, const std::string& backend,
                  const std::string& autograd, double time) {
  const std::string key = suite + "/" + model + "/" + backend + "/" + autograd + "/t1/cpu";
  const auto code =
      backend == "eager" ? VerificationCode::kVerifierSkipped : VerificationCode::kPass;
  Measurement one =
      measured(key, {time, time * 1.01, time * 1.02, time * 1.03, time * 1.04}, 400, code);
  one.variant.where.file = "suites/" + suite + ".toml";
  return one;
}

// Eager and a backend that is `factor` times as fast, in evaluation and in training.
std::vector<Measurement> models(const std::string& suite, int count, double factor) {
  std::vector<Measurement> records;
  for (int i = 0; i < count; ++i) {
    const std::string model = "m" + std::to_string(i);
    for (const char* autograd : {"forward", "forward_backward"}) {
      records.push_back(timed(suite, model, "eager", autograd, 100));
      records.push_back(timed(suite, model, "frozen", autograd, (100 + i) / factor));
    }
  }
  return beside_eager(std::move(records));
}

std::vector<std::string> texts_of(const DocumentTable& table) {
  std::vector<std::string> texts{table.title};
  for (const DocumentRow& row : table.rows) {
    for (const DocumentCell& cell : row.cells) texts.push_back(cell.text);
  }
  return texts;
}

TEST(ExperimentReport, HasTheTablesOfTheSummary) {
  std::vector<Measurement> records = models("one", 3, 0.2);
  std::get<Counted>(records[1].outcome).metrics["compile_time"] = 140e9;
  records[3].verification->code = VerificationCode::kFail;
  const ReportExperiments report = report_experiments({records});
  const Document document = experiment_document(records, /*shows_each=*/true);
  ASSERT_EQ(document.tables.size(), 2 + report.findings.size());
  EXPECT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(texts_of(report.each), texts_of(document.tables[0]));
  EXPECT_EQ(texts_of(report.summary), texts_of(document.tables[1]));
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    EXPECT_EQ(texts_of(report.findings[i]), texts_of(document.tables[2 + i]));
  }
  EXPECT_EQ(report.conclusion, document.notes.at(0).text);
}

TEST(ExperimentReport, HasTheLimitsAndMeansOfTheSummary) {
  const std::vector<Measurement> records = models("one", 3, 2);
  const SummaryOptions options{.flags = {.speedup = 1.99}, .has_arithmetic_mean = true};
  const ReportExperiments report = report_experiments({records}, options);
  const Document document = experiment_document(records, /*shows_each=*/true, options);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].title, "slower than 1.99x");
  ASSERT_EQ(document.tables.size(), 3u);
  EXPECT_EQ(texts_of(report.each), texts_of(document.tables[0]));
  EXPECT_EQ(texts_of(report.summary), texts_of(document.tables[1]));
  EXPECT_EQ(texts_of(report.findings[0]), texts_of(document.tables[2]));
}

TEST(ExperimentReport, HasAllFindingsTheWorstFirst) {
  const std::vector<Measurement> records = models("one", 15, 0.5);
  const auto all = report_experiments({records}).findings;
  const auto first = find_findings(records);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].rows.size(), 30u);
  ASSERT_EQ(first[0].rows.size(), kMaxFindings);
  for (std::size_t i = 0; i < kMaxFindings; ++i) {
    EXPECT_EQ(all[0].rows[i].cells[1].text, first[0].rows[i].cells[1].text);
  }
  EXPECT_EQ(all[0].rows.back().lines, "");
}

TEST(ExperimentReport, SaysWhichRowSumsUpAnExperiment) {
  std::vector<Measurement> records = models("one", 1, 2);
  records.push_back({parse_key("one/m0/aoti/forward/t1/cpu"), Skipped{"no package"}, 0});
  const ReportExperiments report = report_experiments({records});
  std::map<std::string, std::string> rows;
  for (const ReportExperiment& one : report.list) {
    rows[one.key] = one.row ? report.summary.rows.at(*one.row).cells[0].text : "none";
  }
  EXPECT_EQ(rows, (std::map<std::string, std::string>{
                      {"one/m0/eager/forward/t1/cpu", "eval eager"},
                      {"one/m0/frozen/forward/t1/cpu", "eval frozen"},
                      {"one/m0/aoti/forward/t1/cpu", "none"},
                      {"one/m0/eager/forward_backward/t1/cpu", "train eager"},
                      {"one/m0/frozen/forward_backward/t1/cpu", "train frozen"}}));
}

TEST(ExperimentReport, TakesEachGroupFromTheNewestFileThatHasIt) {
  const auto old = models("one", 2, 2), other = models("two", 1, 3), now = models("one", 1, 4);
  const ReportExperiments report = report_experiments({old, other, now});
  std::vector<std::string> speedups;
  for (const DocumentRow& row : report.summary.rows) {
    speedups.push_back(row.cells[0].text + " " + row.cells[4].text);
  }
  EXPECT_EQ(speedups, (std::vector<std::string>{"one eval eager -", "one eval frozen 4.00x",
                                                "one train eager -", "one train frozen 4.00x",
                                                "two eval eager -", "two eval frozen 3.00x",
                                                "two train eager -", "two train frozen 3.00x"}));
  EXPECT_EQ(report.list.size(), 8u);
}

TEST(ExperimentReport, KeepsOneRecordOfAKeyThatTwoGroupsHave) {
  auto before = models("one", 1, 2), now = models("one", 1, 4);
  for (Measurement& one : now) one.variant.where.file = "renamed.toml";
  const ReportExperiments report = report_experiments({before, now});
  EXPECT_EQ(report.list.size(), 4u);
  for (const ReportExperiment& one : report.list) EXPECT_TRUE(one.row);
}

TEST(ExperimentReport, HasTheFactsAndListsOfAnExperiment) {
  std::vector<Measurement> records = models("one", 1, 2);
  auto& counted = std::get<Counted>(records[1].outcome);
  counted.compiler = CompilerReport{
      .graph_breaks = {{"layers.toml:12", "call to print", 3}},
      .unlowered = {{"aten::nonzero", 2}},
      .choices = {{"inductor", {{"eager", 2500}, {"inductor", 1500}}, {{"aot_eager", "no code"}}}}};
  counted.metrics[kCoverageOperators] = 0.75;
  counted.operators = {{"aten::mm", false, 7, 1500, 2500}};
  records[1].verification->reason = "the loss\nis off";
  counted.timing->others = 1;
  const ReportExperiments report = report_experiments({records});
  const ReportExperiment& one = report.list.at(2);
  ASSERT_EQ(one.key, records[1].variant.key);
  std::map<std::string, std::string> facts(one.facts.begin(), one.facts.end());
  EXPECT_EQ(facts["time of an iteration"], "51.0 ns; 5 runs, 50.0 ns to 52.0 ns");
  EXPECT_EQ(facts["iterations of a run"], "100");
  EXPECT_EQ(facts["eager beside it"], "102 ns; 5 runs, 100 ns to 104 ns");
  EXPECT_EQ(facts["not to be trusted"], "other processes used 1.0 cores");
  EXPECT_EQ(facts["verification"], "the loss\nis off");
  EXPECT_EQ(facts["peak bytes"], "400");
  EXPECT_EQ(facts["operators in graphs"], "75.0%");
  std::vector<std::vector<std::string>> lists;
  for (const DocumentTable& table : one.lists) lists.push_back(texts_of(table));
  EXPECT_EQ(lists,
            (std::vector<std::vector<std::string>>{
                {"graph breaks", "layers.toml:12", "3", "call to print"},
                {"operators left to LibTorch", "aten::nonzero", "2"},
                {"backends chosen by graph", "1", "inductor", "eager 2.50 µs, inductor 1.50 µs",
                 "aot_eager: no code"},
                {"operators with the most time", "aten::mm", "CPU", "7", "1.50 µs", "2.50 µs"}}));
}

TEST(ExperimentReport, PassesTextsTonesAndIntervalsToThePage) {
  const auto records = models("one", 1, 0.2);
  const ReportExperiments report = report_experiments({records});
  const auto json = experiments_json(report);
  const auto& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("title"), "slower than 0.95x");
  const auto& row = finding.at("rows").at(0);
  EXPECT_EQ(row.at("id"), records[1].variant.key);
  const auto& cell = row.at("cells").at(1);
  EXPECT_EQ(cell.at("text"), report.findings[0].rows[0].cells[1].text);
  EXPECT_EQ(cell.at("tone"), "warning");
  EXPECT_NEAR(cell.at("number").get<double>(), 0.2, 1e-9);
  const auto& [low, high] = *report.list.at(2).speedup->interval;
  EXPECT_EQ(json.at("list").at(2).at("speedup"),
            (nlohmann::ordered_json{{"ratio", 0.2}, {"low", low}, {"high", high}}));
  EXPECT_FALSE(json.at("list").at(0).contains("speedup"));
  for (const auto& column : json.at("summary").at("columns")) {
    EXPECT_NE(column.at("name"), "requested");
  }
}

}  // namespace
}  // namespace instr::experiment_report_test
