// The formats that other programs read, as text; tests/formats has the programs read them.

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/junit.h"
#include "core/report/formats.h"
#include "core/report/run_report.h"
#include "tests/golden.h"

namespace instr::report_programs_test {
namespace {

using nlohmann::json;

Measurement measurement(const std::string& key, std::variant<Counted, Skipped, Failure> outcome) {
  Measurement made;
  made.variant.key = key;
  made.variant.label = key.substr(0, key.find('/'));
  made.outcome = std::move(outcome);
  made.seconds = 0.25;
  return made;
}

Counted counted(std::map<std::string, double> metrics) {
  Counted made;
  made.iterations = 20;
  made.steady = true;
  made.metrics = std::move(metrics);
  return made;
}

Counted unsteady(double first, double second) {
  Counted made = counted({{"instructions", second}});
  made.steady = false;
  made.gated = false;
  made.first_block_instructions = first;
  made.second_block_instructions = second;
  return made;
}

std::vector<Measurement> all_kinds() {
  return {measurement("a/t1", counted({{"instructions", 5313}, {"allocs", 3}})),
          measurement("b/t2", unsteady(210, 212.5)),
          measurement("c/t1", Failure{FailureKind::kCompileError, "x.toml:1:2: <no>\nat all"}),
          measurement("d/t1", Skipped{"needs CUDA"}),
          measurement("e/t1", Failure{FailureKind::kUnsupported, "no such thing"})};
}

std::string bencher(const std::vector<Measurement>& measurements) {
  return report_bencher(measurements, {});
}

std::string gbench(const std::vector<Measurement>& measurements) {
  return testing::json_lines(nlohmann::ordered_json::parse(report_gbench(measurements, {})));
}

std::string smaller_is_better(const std::vector<Measurement>& measurements) {
  return report_smaller_is_better(measurements, {});
}

TEST(ReportPytorch, HasARecordForEachMetric) {
  Measurement compiled = measurement("compile/add_loop/py/eager/forward/t1/cpu",
                                     counted({{"compile_instructions", 152673877}}));
  compiled.variant.label = "compile/add_loop";
  compiled.variant.description = "add_loop_eager";
  std::vector<Measurement> all = all_kinds();
  all.push_back(compiled);
  EXPECT_GOLDEN("report/all_outcomes.pytorch.txt",
                testing::json_lines(nlohmann::ordered_json::parse(report_pytorch(all, {}))));
}

TEST(ReportJunit, HasACaseForEachMeasurement) {
  ReportOptions options{.header = ResultsHeader{}};
  options.header->started = "2024-05-01T12:00:00Z";
  options.header->fingerprint.entries = {{"compiler", "\"C\" & C++"}};
  options.seconds = 14.8254;
  EXPECT_GOLDEN("report/all_outcomes.xml", report_junit(all_kinds(), options));
}

Measurement verified(const std::string& key, VerificationCode code, const std::string& reason) {
  Measurement made = measurement(key, Counted{});
  made.verification = Verification{code, reason};
  return made;
}

TEST(ReportJunit, TimesAndVerificationNeedNoCounts) {
  Measurement timed = measurement("a/t1", counted({{"wall", 12.5}}));
  std::get<Counted>(timed.outcome).timing = Timing{{{kWall, {12.5}}, {kCpu, {12}}}, 100};
  EXPECT_GOLDEN("report/times_and_verification.xml",
                report_junit({timed, verified("b/t1", VerificationCode::kPass, ""),
                              verified("c/t1", VerificationCode::kFail, "differs\nby 2")},
                             {}));
}

TEST(ReportJunit, NothingMeasured) {
  EXPECT_GOLDEN("report/nothing_measured.xml", report_junit({}, {}));
}

TEST(Junit, ReplacesWhatXmlForbids) {
  JunitSuite suite;
  suite.name = "a\nb\x01\xff\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBDz";
  suite.seconds = -1;
  EXPECT_GOLDEN("report/forbidden_characters.xml", junit_xml(suite));
}

Measurement timed(std::map<std::string, double> metrics) {
  Measurement made = measurement("a/t1", counted(std::move(metrics)));
  std::get<Counted>(made.outcome).timing = Timing{{{kWall, {12.5}}}, 5'000'000'000};
  return made;
}

TEST(ReportGbench, HasTimesInItsTimeFields) {
  const Measurement all =
      timed({{"wall", 12.5}, {"cpu", 12}, {"instructions", 5313}, {"ready", 7}});
  const Measurement wall_alone = timed({{"wall", 12.5}});
  Measurement wrong = timed({{"wall", 12.5}, {"instructions", 10}});
  wrong.verification = Verification{VerificationCode::kFail, "differs"};
  EXPECT_GOLDEN("report/times.gbench.txt", gbench({all, wall_alone, wrong}));
}

TEST(ReportGbench, CountsAreUserCountersBesideNoTime) {
  EXPECT_GOLDEN("report/all_outcomes.gbench.txt", gbench(all_kinds()));
}

TEST(ReportGbench, FieldsKeepTheirMeaning) {
  auto odd =
      measurement("a", counted({{"real_time", 7}, {"instructions", std::nan("")}, {"allocs", 1}}));
  ReportOptions options{.header = ResultsHeader{}};
  options.header->fingerprint.entries = {{"executable", "other"}, {"zygote", "eager"}};
  json document = json::parse(report_gbench({odd}, options));
  EXPECT_EQ(document["benchmarks"][0]["real_time"], 0);
  EXPECT_EQ(document["benchmarks"][0]["allocs"], 1);
  EXPECT_FALSE(document["benchmarks"][0].contains("instructions"));
  EXPECT_EQ(document["context"]["executable"], "instr_bench");
  EXPECT_EQ(document["context"]["zygote"], "eager");
}

TEST(ReportBencher, NamesMeasuresBySlugs) {
  auto one = measurement("a", counted({{"instructions", 1.5},
                                       {"alloc_bytes", 0},
                                       {"_D1 Misses__(L2)_", 2},
                                       {"??", 3},
                                       {std::string(63, 'x') + "_y", 4},
                                       {"bad", std::nan("")}}));
  EXPECT_GOLDEN("report/slugs.bencher.json", bencher({one}));
}

TEST(ReportBencher, LeavesOutUncountedVariants) {
  EXPECT_GOLDEN("report/all_outcomes.bencher.json", bencher(all_kinds()));
  EXPECT_EQ(bencher({}), "{}\n");
}

TEST(ReportBencher, LongKeysStayDistinct) {
  std::string same(1023, 'x');
  json document = json::parse(bencher({measurement(same + "é1", counted({{"instructions", 1}})),
                                       measurement(same + "é2", counted({{"instructions", 2}})),
                                       measurement(same, counted({{"instructions", 3}}))}));
  ASSERT_EQ(document.size(), 3u);
  for (const auto& [name, value] : document.items()) EXPECT_LE(name.size(), 1024u);
  EXPECT_EQ(document[same]["instructions"]["value"], 3);
}

TEST(ReportSmallerIsBetter, HasAnEntryForEachMetric) {
  EXPECT_GOLDEN(
      "report/metrics.smaller_is_better.json",
      smaller_is_better(
          {measurement("a|b\\c", counted({{"instructions", 5}, {"alloc_bytes", 0}, {"allocs", 2}})),
           measurement("d", unsteady(210, 212.5))}));
  EXPECT_EQ(smaller_is_better({}), "[]\n");
}

TEST(ReportCsv, IsUtf8WithoutControlCharacters) {
  EXPECT_GOLDEN("report/control_characters.csv",
                report(ReportFormat::kCsv,
                       {measurement("a\xff\x01\tb", Skipped{std::string("n\0l", 3)})}, {}));
}

}  // namespace
}  // namespace instr::report_programs_test
