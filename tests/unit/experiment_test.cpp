// Experiments as values: the lines of a results file, and their summary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/experiments/experiment_record.h"
#include "core/experiments/experiment_summary.h"
#include "core/report/formats.h"
#include "tests/golden.h"
#include "tests/testing.h"
#include "tests/unit/experiment_testing.h"

namespace instr::experiment_test {
namespace {

using namespace testing;

TEST(ExperimentRecord, IsALineOfJson) {
  Measurement one = measured("m/n=4/torchscript/forward_backward/t2/cpu", {2000, 1000, 3000}, 64,
                             VerificationCode::kPass);
  one.variant.label = "m";
  one.variant.params = {{"batch_size", "16"}, {"n", "4"}};
  one.variant.where.file = "some/suite.toml";
  ExperimentRecord made = record(one);
  made.timestamp = "2026-01-02T03:04:05Z";
  auto json = to_json(made);
  EXPECT_GOLDEN("experiment/record.json", json.dump(2) + "\n");
  auto read = parse_experiment(json.dump());
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->variant.key, made.variant.key);
  EXPECT_EQ(read->setting, kSetting);
  EXPECT_EQ(read->per_iter_times, made.per_iter_times);
  EXPECT_EQ(read->metrics, made.metrics);
  EXPECT_EQ(read->code, VerificationCode::kPass);
}

TEST(ExperimentRecord, ACompilersStartIsColdAndWarm) {
  Measurement measurement = measured("m/py/inductor/forward/t1/cpu", {2000, 1000, 3000}, 64);
  auto& counted = std::get<Counted>(measurement.outcome);
  counted.metrics["warm_ready"] = 1e6;
  counted.metrics["ready_cpu"] = 4e6;
  counted.metrics["frames"] = 3;
  counted.compiler = CompilerReport{{{"a.toml:3:1", "a loop", 1}}};
  const auto json = to_json(record(measurement));
  EXPECT_NEAR(json["metrics"]["compile_time"].get<double>(), 0.005 - 2e-6, 1e-12);
  EXPECT_NEAR(json["metrics"]["warm_compile_time"].get<double>(), 0.001 - 2e-6, 1e-12);
  EXPECT_NEAR(json["metrics"]["compile_cpu_time"].get<double>(), 0.004 - 2e-6, 1e-12);
  EXPECT_EQ(json["metrics"]["frames"], 3);
  auto read = parse_experiment(json.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->compiler, counted.compiler);
  EXPECT_EQ(std::get<Counted>(measurement_of(*read).outcome).compiler, counted.compiler);
}

TEST(ExperimentRecord, HasTheOperatorsWithTheMostTime) {
  Measurement measurement = measured("m/eager/forward/t1/cpu", {2000, 1000, 3000}, 64);
  auto& operators = std::get<Counted>(measurement.outcome).operators;
  for (std::uint64_t i = 0; i < 20; ++i) operators.push_back({"aten::mm", false, i, 2500, 3500});
  const auto json = to_json(record(measurement));
  ASSERT_EQ(json["operators"].size(), 10u);
  EXPECT_NEAR(json["operators"][1]["self_time"].get<double>(), 2.5e-6, 1e-15);
  auto read = parse_experiment(json.dump());
  ASSERT_TRUE(read);
  operators.resize(10);
  EXPECT_EQ(read->operators, operators);
  EXPECT_FALSE(
      to_json(record(measured("m/eager/forward/t1/cpu", {1, 1, 1}, 0))).contains("operators"));
}

TEST(ExperimentRecord, FailuresAndSkipsSayWhy) {
  Measurement lost{parse_key("a/eager/forward/t1/cpu"), Failure{FailureKind::kCrashed, "SIGSEGV"},
                   0};
  ExperimentRecord made = record(lost);
  made.timestamp = "2026-01-02T03:04:05Z";
  EXPECT_GOLDEN("experiment/record_of_a_failure.json", to_json(made).dump(2) + "\n");
  Measurement none{lost.variant, Failure{FailureKind::kUnsupported, "no device"}, 0};
  EXPECT_EQ(to_json(record(none))["state"], "skipped");
}

TEST(ExperimentRecord, ConvertsBackToAMeasurement) {
  Measurement measurement =
      measured("m/frozen/forward/t1/cpu", {2000, 1000, 3000}, 64, VerificationCode::kFail);
  std::get<Counted>(measurement.outcome).timing->eager = {4000, 5000, 6000};
  std::get<Counted>(measurement.outcome).timing->others = 0.5;
  const auto read = parse_experiment(to_json(record(measurement)).dump());
  ASSERT_TRUE(read);
  Measurement back = measurement_of(*read);
  const auto& counted = std::get<Counted>(back.outcome);
  ASSERT_EQ(counted.timing->of(kWall).size(), 3u);
  EXPECT_NEAR(counted.metrics.at("wall"), 2000, 1e-6);
  ASSERT_EQ(counted.timing->eager.size(), 3u);
  EXPECT_NEAR(counted.timing->eager[1], 5000, 1e-6);
  EXPECT_EQ(counted.timing->others, 0.5);
  EXPECT_NEAR(counted.metrics.at("relative_wall"), 0.5, 1e-9);  // of 0.5, 0.2 and 0.5
  EXPECT_EQ(counted.metrics.at("peak_bytes"), 64);
  EXPECT_NEAR(counted.metrics.at("ready"), 5e6, 1e-3);
  EXPECT_EQ(back.verification->code, VerificationCode::kFail);
  EXPECT_FALSE(
      measurement_of(record(measured("m/eager/forward/t1/cpu", {1, 1, 1}, 0))).verification);
}

TEST(ExperimentRecord, OtherLinesAreRefused) {
  for (const char* line :
       {"", "{}", "[1]", "null", R"({"key":"a","state":"measured"})",
        R"({"key":1,"state":"measured","repeat":3,"verification_code":"PASS"})",
        R"({"key":"a","state":"odd","repeat":3,"verification_code":"PASS"})",
        R"({"key":"a","state":"measured","repeat":-3,"verification_code":"PASS"})"}) {
    EXPECT_FALSE(parse_experiment(line)) << line;
  }
  auto json = to_json(record(measured("m/eager/forward/t1/cpu", {1, 2}, 0)));
  EXPECT_TRUE(parse_experiment(json.dump()));
  json["metrics"]["per_iter_time"][1] = nullptr;
  EXPECT_FALSE(parse_experiment(json.dump()));
}

TEST(ExperimentSummary, OnlyPassedOnesCountForSpeedup) {
  const std::string end = "/forward/t1/cpu";
  std::vector<ExperimentRecord> records;
  auto add = [&](Measurement measurement) { records.push_back(record(measurement)); };
  for (const char* label : {"a", "b", "c"}) {
    add(measured(std::string(label) + "/eager" + end, {8, 8, 8}, 400));
  }
  add(measured("a/frozen" + end, {2, 2, 2}, 100, VerificationCode::kPass));
  add(measured("b/frozen" + end, {8, 8, 8}, 400, VerificationCode::kPass));
  add(measured("c/frozen" + end, {0.1, 0.1, 0.1}, 1, VerificationCode::kFail));
  add({parse_key("a/aoti" + end), Skipped{"no package"}, 0});
  auto summaries = summarize_experiments(beside_eager(records));
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].backend, Backend::kEager);
  EXPECT_EQ(summaries[0].measured, 3u);
  const ExperimentSummary& frozen = summaries[1];
  EXPECT_EQ(frozen.requested, 3u);
  EXPECT_EQ(frozen.measured, 3u);
  EXPECT_EQ(frozen.passed, 2u);
  EXPECT_NEAR(*frozen.speedup, 2, 1e-9);       // of 4 and 1
  EXPECT_NEAR(*frozen.memory_ratio, 2, 1e-9);  // of 4 and 1
  EXPECT_NEAR(*frozen.compile_time, 0.005, 1e-6);
  EXPECT_EQ(frozen.not_passed, (std::map<std::string, std::size_t>{{"FAIL", 1}}));
  EXPECT_EQ(experiment_line(records), "7 experiments: 6 measured, 1 skipped");
  EXPECT_GOLDEN("experiment/summary.txt",
                render(ReportFormat::kTable, {.tables = {experiment_table(summaries)}}));
}

ExperimentRecord in_suite(const std::string& suite, const Measurement& measurement) {
  ExperimentRecord one = record(measurement);
  one.variant.where.file = "suites/" + suite + ".toml";
  return one;
}

TEST(ExperimentSummary, IsBySuiteAndSaysHowOftenEachIsTheFastest) {
  const std::string end = "/forward/t1/cpu";
  std::vector<ExperimentRecord> records;
  for (const char* suite : {"one", "two"}) {
    const std::string label = std::string(suite) + "/m";
    records.push_back(in_suite(suite, measured(label + "/eager" + end, {8, 8.1, 8.2, 8.3}, 400)));
    const double factor = suite[0] == 'o' ? 0.5 : 2;
    records.push_back(in_suite(
        suite,
        measured(label + "/frozen" + end, {8 * factor, 8.1 * factor, 8.2 * factor, 8.3 * factor},
                 400, VerificationCode::kPass)));
  }
  const auto summaries = summarize_experiments(records);
  ASSERT_EQ(summaries.size(), 4u);
  EXPECT_EQ(summaries[0].group.suite, "one");
  EXPECT_EQ(summaries[0].fastest, 0u);
  EXPECT_EQ(summaries[1].fastest, 1u);
  EXPECT_NEAR(*summaries[1].speedup, 2, 1e-9);
  EXPECT_EQ(summaries[2].fastest, 1u);  // eager
  EXPECT_NEAR(*summaries[3].speedup, 0.5, 1e-9);
  const DocumentTable table = experiment_table(summaries);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[3].group, "two");
  EXPECT_EQ(table.rows[3].cells[0].text, "two frozen");
}

TEST(ExperimentSummary, TakesNoMeanAcrossTestsTypesOrThreads) {
  std::vector<ExperimentRecord> records;
  for (const char* end :
       {"dtype=amp/BACKEND/forward/t1/cpu", "dtype=float32/BACKEND/forward/t10/cpu",
        "dtype=float32/BACKEND/forward/t2/cpu", "dtype=float32/BACKEND/forward_backward/t2/cpu"}) {
    for (const char* backend : {"eager", "frozen"}) {
      std::string key = std::string("m/") + end;
      key.replace(key.find("BACKEND"), 7, backend);
      records.push_back(in_suite("timm", measured(key, {8, 8.1}, 400, VerificationCode::kPass)));
    }
  }
  const DocumentTable table = experiment_table(summarize_experiments(records));
  ASSERT_EQ(table.rows.size(), 8u);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.rows.size(); i += 2) {
    names.push_back(table.rows[i].group);
    EXPECT_EQ(table.rows[i + 1].group, table.rows[i].group);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"eval amp 1 thread", "eval float32 2 threads",
                                      "eval float32 10 threads", "train float32 2 threads"}));
  EXPECT_EQ(table.rows[7].cells[0].text, "train float32 2 threads frozen");
}

TEST(ExperimentFindings, ListWhatIsSlowLargeOrWrong) {
  const std::string end = "/forward/t1/cpu";
  std::vector<ExperimentRecord> records;
  const auto add = [&](const std::string& key, double time, double bytes, VerificationCode code) {
    records.push_back(
        record(measured(key + end, {time, time * 1.01, time * 1.02, time * 1.03}, bytes, code)));
  };
  const auto titles = [&] {
    std::string text;
    for (const DocumentTable& table : find_findings(beside_eager(records))) {
      text += table.title + ":";
      for (const DocumentRow& row : table.rows) text += " " + row.cells[0].text;
      text += "\n";
    }
    return text;
  };
  for (const char* model : {"a", "b", "c", "d"}) {
    add(std::string(model) + "/eager", 10, 1000, VerificationCode::kVerifierSkipped);
  }
  add("a/frozen", 9, 1000, VerificationCode::kPass);
  EXPECT_EQ(titles(), "");
  add("b/frozen", 12, 1000, VerificationCode::kPass);
  add("c/frozen", 20, 1200, VerificationCode::kPass);
  add("d/frozen", 90, 9000, VerificationCode::kFail);  // only wrong: its figures mean nothing
  EXPECT_GOLDEN("experiment/findings.txt", titles());
  records[1].metrics["compile_time"] = records[4].metrics["compile_time"] = 121;
  EXPECT_GOLDEN("experiment/findings_with_compile_times.txt", titles());
}

TEST(ExperimentFindings, AreTheWorstOfMany) {
  std::vector<ExperimentRecord> records;
  for (int i = 0; i < 25; ++i) {
    const std::string end = "/forward/t1/cpu";
    const std::string label = "m" + std::to_string(i);
    const double time = 20.0 + i;
    records.push_back(record(measured(label + "/eager" + end, {1, 1.1, 1.2, 1.3}, 1)));
    records.push_back(record(measured(label + "/frozen" + end, {time, time + 1, time + 2, time + 3},
                                      1, VerificationCode::kPass)));
  }
  const auto findings = find_findings(beside_eager(records));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rows.size(), kMaxFindings);
  EXPECT_EQ(findings[0].rows[0].cells[0].text, "m24, frozen");
  EXPECT_EQ(findings[0].rows.back().lines, "and 5 more\n");
}

TEST(ExperimentFindings, NameTheOperatorsThatWereNotLowered) {
  const std::string key = "m/py/openxla/forward/t1/cpu";
  ExperimentRecord one = record(measured(key, {4}, 1, VerificationCode::kPass));
  one.compiler = CompilerReport{};
  EXPECT_TRUE(find_findings({one}).empty());
  one.compiler->unlowered = {{"aten::_unique2", 4}, {"aten::nonzero", 2}};
  const auto findings = find_findings({one});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "operators that the compiler left to LibTorch");
  EXPECT_EQ(findings[0].rows[0].cells[1].text, "aten::_unique2, aten::nonzero");
}

TEST(ExperimentFindings, EachHasItsPValue) {
  const std::string end = "/forward/t1/cpu";
  const std::vector<ExperimentRecord> records{
      record(measured("m/eager" + end, {8, 8.1, 8.2, 8.3, 8.4}, 400)),
      record(measured("m/frozen" + end, {4, 4.1, 4.2, 4.3, 4.4}, 400, VerificationCode::kPass))};
  EXPECT_GOLDEN(
      "experiment/each_with_its_p_value.txt",
      render(ReportFormat::kTable, {.tables = {each_experiment_table(beside_eager(records))}}));
}

// 10 rounds, of which a load makes the last five slower.
std::vector<double> loaded(double time) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back((i < 5 ? time : 2 * time) + 0.01 * i);
  return times;
}

TEST(ExperimentSummary, MarksSpeedupsThatCannotBeTrusted) {
  const std::string end = "/forward/t1/cpu";
  const auto findings_of = [&](const std::function<void(ExperimentRecord&)>& change) {
    std::vector<ExperimentRecord> records{
        record(measured("m/eager" + end, {8, 8.1, 8.2, 8.3, 8.2}, 400)),
        record(measured("m/frozen" + end, {4, 4.1, 4.2, 4.3, 4.2}, 400, VerificationCode::kPass))};
    records = beside_eager(records);
    change(records[1]);
    const ExperimentSummary frozen = summarize_experiments(records)[1];
    const std::string mean = experiment_table({frozen}).rows[0].cells[4].text;
    std::string text = fmt::format("{} of {}", frozen.disturbed, mean);
    for (const DocumentTable& table : find_findings(records)) {
      text += fmt::format("; {}: {}", table.title, table.rows[0].cells[2].text);
    }
    return text;
  };
  const std::string mark = "1 of ~1.95x; ~ speed-ups that cannot be trusted: ";
  EXPECT_EQ(findings_of([](ExperimentRecord& one) { one.others = 0.1; }), "0 of 1.95x");
  EXPECT_EQ(findings_of([](ExperimentRecord& one) { one.others = 1; }),
            mark + "other processes used 1.0 cores");
  EXPECT_EQ(findings_of([](ExperimentRecord& one) { one.eager_times.clear(); }),
            mark + "not timed alternately with eager");
  EXPECT_EQ(findings_of([](ExperimentRecord& one) {
              one.eager_times = loaded(8);
              one.per_iter_times = loaded(4);
            }),
            "1 of ~1.99x; ~ speed-ups that cannot be trusted: times rose by 101% halfway");
}

// A load that slows both sides alike leaves the speed-up as it is.
TEST(ExperimentSummary, ComparesWithTheEagerOfTheSameProcess) {
  const std::string end = "/forward/t1/cpu";
  std::vector<ExperimentRecord> records{
      record(measured("m/eager" + end, {8, 8.1, 8.2, 8.3}, 400)),
      record(measured("m/frozen" + end, {80, 81, 82, 83}, 400, VerificationCode::kPass)),
      record(measured("m/optimized" + end, {7, 7.1, 7.2, 7.3}, 400, VerificationCode::kPass))};
  records = beside_eager(records);
  for (double& time : records[1].eager_times) time *= 20;
  const auto summaries = summarize_experiments(records);
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_NEAR(*summaries[1].speedup, 2, 1e-9);
  EXPECT_EQ(summaries[1].fastest, 1u);
  EXPECT_EQ(summaries[2].fastest, 0u);
}

}  // namespace
}  // namespace instr::experiment_test
