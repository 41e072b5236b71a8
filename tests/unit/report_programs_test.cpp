// The formats that other programs read, as text; tests/formats has the programs read them.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/junit.h"
#include "core/report/formats.h"

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
  Counted made = counted({{"ir", second}});
  made.steady = false;
  made.gated = false;
  made.first_block_ir = first;
  made.second_block_ir = second;
  return made;
}

std::vector<Measurement> all_kinds() {
  return {measurement("a/t1", counted({{"ir", 5313}, {"allocs", 3}})),
          measurement("b/t2", unsteady(210, 212.5)),
          measurement("c/t1", Failure{FailureKind::kCompileError, "x.toml:1:2: <no>\nat all"}),
          measurement("d/t1", Skipped{"needs CUDA"}),
          measurement("e/t1", Failure{FailureKind::kUnsupported, "no such thing"})};
}

TEST(ReportJunit, HasACaseForEachMeasurement) {
  ReportOptions options;
  options.header = ResultsHeader{};
  options.header->started = "2024-05-01T12:00:00Z";
  options.header->fingerprint.entries = {{"compiler", "\"C\" & C++"}};
  options.seconds = 14.8254;
  EXPECT_EQ(report_junit(all_kinds(), options),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="instr_bench" tests="5" failures="0" errors="1" skipped="2" time="14.825" timestamp="2024-05-01T12:00:00">
    <properties>
      <property name="compiler" value="&quot;C&quot; &amp; C++"/>
    </properties>
    <testcase classname="a" name="a/t1" time="0.250">
      <system-out>allocs=3
ir=5313
iterations=20
steady=true</system-out>
    </testcase>
    <testcase classname="b" name="b/t2" time="0.250">
      <system-out>ir=212.5
iterations=20
steady=false
first_block_ir=210
second_block_ir=212.5
gated=false</system-out>
    </testcase>
    <testcase classname="c" name="c/t1" time="0.250">
      <error type="compile_error" message="x.toml:1:2: &lt;no&gt;">x.toml:1:2: &lt;no&gt;
at all</error>
    </testcase>
    <testcase classname="d" name="d/t1" time="0.250">
      <skipped message="needs CUDA"/>
    </testcase>
    <testcase classname="e" name="e/t1" time="0.250">
      <skipped message="no such thing"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

Measurement verified(const std::string& key, VerificationCode code, const std::string& reason) {
  Measurement made = measurement(key, Counted{});
  made.verification = Verification{code, reason};
  return made;
}

TEST(ReportJunit, TimesAndVerificationNeedNoCounts) {
  Measurement timed = measurement("a/t1", counted({{"wall", 12.5}}));
  std::get<Counted>(timed.outcome).timing = Timing{{{kWall, {12.5}}, {kCpu, {12}}}, 100};
  EXPECT_EQ(report_junit({timed, verified("b/t1", VerificationCode::kPass, ""),
                          verified("c/t1", VerificationCode::kFail, "differs\nby 2")},
                         {}),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="instr_bench" tests="3" failures="1" errors="0" skipped="0" time="0.750">
    <testcase classname="a" name="a/t1" time="0.250">
      <system-out>wall=12.5</system-out>
    </testcase>
    <testcase classname="b" name="b/t1" time="0.250">
      <system-out>verification=PASS</system-out>
    </testcase>
    <testcase classname="c" name="c/t1" time="0.250">
      <failure type="FAIL" message="differs">differs
by 2</failure>
      <system-out>verification=FAIL</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(ReportJunit, NothingMeasured) {
  EXPECT_EQ(report_junit({}, {}),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="instr_bench" tests="0" failures="0" errors="0" skipped="0" time="0.000">
  </testsuite>
</testsuites>
)");
}

TEST(Junit, ReplacesWhatXmlForbids) {
  JunitSuite suite;
  suite.name = "a\nb\x01\xff\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBDz";
  suite.seconds = -1;
  EXPECT_NE(junit_xml(suite).find("name=\"a b\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz\" "),
            std::string::npos)
      << junit_xml(suite);
  EXPECT_NE(junit_xml(suite).find(" time=\"0.000\""), std::string::npos);
}

Measurement timed(std::map<std::string, double> metrics) {
  Measurement made = measurement("a/t1", counted(std::move(metrics)));
  std::get<Counted>(made.outcome).timing = Timing{{{kWall, {12.5}}}, 5'000'000'000};
  return made;
}

json first_gbench(const Measurement& measurement) {
  return json::parse(report_gbench({measurement}, {}))["benchmarks"][0];
}

TEST(ReportGbench, HasTimesInItsTimeFields) {
  EXPECT_EQ(first_gbench(timed({{"wall", 12.5}, {"cpu", 12}, {"ir", 5313}, {"ready", 7}})),
            json({{"name", "a/t1"},
                  {"run_name", "a/t1"},
                  {"run_type", "iteration"},
                  {"repetitions", 1},
                  {"repetition_index", 0},
                  {"threads", 1},
                  {"iterations", 5'000'000'000},
                  {"real_time", 12.5},
                  {"cpu_time", 12},
                  {"time_unit", "ns"},
                  {"ir", 5313},
                  {"ready", 7}}));
  const json wall_alone = first_gbench(timed({{"wall", 12.5}}));
  EXPECT_EQ(wall_alone["real_time"], 12.5);
  EXPECT_EQ(wall_alone["cpu_time"], 0);
  EXPECT_EQ(wall_alone["time_unit"], "ns");
}

TEST(ReportGbench, AWrongResultIsAnError) {
  Measurement wrong = timed({{"wall", 12.5}, {"ir", 10}});
  wrong.verification = Verification{VerificationCode::kFail, "differs"};
  const json one = first_gbench(wrong);
  EXPECT_EQ(one["error_occurred"], true);
  EXPECT_EQ(one["error_message"], "FAIL: differs");
  EXPECT_EQ(one["real_time"], 0);
  EXPECT_EQ(one["time_unit"], "s");
  EXPECT_EQ(one["ir"], 10);
}

TEST(ReportGbench, CountsAreUserCountersBesideNoTime) {
  json document = json::parse(report_gbench(all_kinds(), {}));
  EXPECT_EQ(document["benchmarks"].size(), 3u);
  EXPECT_EQ(document["benchmarks"][0], json({{"name", "a/t1"},
                                             {"run_name", "a/t1"},
                                             {"run_type", "iteration"},
                                             {"repetitions", 1},
                                             {"repetition_index", 0},
                                             {"threads", 1},
                                             {"iterations", 20},
                                             {"real_time", 0},
                                             {"cpu_time", 0},
                                             {"time_unit", "s"},
                                             {"allocs", 3},
                                             {"ir", 5313}}));
  EXPECT_EQ(document["benchmarks"][1]["label"], "not steady");
  EXPECT_EQ(document["benchmarks"][2]["error_message"], "compile_error: x.toml:1:2: <no>\nat all");
  EXPECT_EQ(document["benchmarks"][2]["time_unit"], "s");
}

TEST(ReportGbench, FieldsKeepTheirMeaning) {
  auto odd = measurement("a", counted({{"real_time", 7}, {"ir", std::nan("")}, {"allocs", 1}}));
  ReportOptions options;
  options.header = ResultsHeader{};
  options.header->fingerprint.entries = {{"executable", "other"}, {"zygote", "eager"}};
  json document = json::parse(report_gbench({odd}, options));
  EXPECT_EQ(document["benchmarks"][0]["real_time"], 0);
  EXPECT_EQ(document["benchmarks"][0]["allocs"], 1);
  EXPECT_FALSE(document["benchmarks"][0].contains("ir"));
  EXPECT_EQ(document["context"]["executable"], "instr_bench");
  EXPECT_EQ(document["context"]["zygote"], "eager");
}

TEST(ReportBencher, NamesMeasuresBySlugs) {
  auto one = measurement("a", counted({{"ir", 1.5},
                                       {"alloc_bytes", 0},
                                       {"_D1 Misses__(L2)_", 2},
                                       {"??", 3},
                                       {std::string(63, 'x') + "_y", 4},
                                       {"bad", std::nan("")}}));
  EXPECT_EQ(json::parse(report_bencher({one}))["a"],
            json({{"instructions", {{"value", 1.5}}},
                  {"alloc-bytes", {{"value", 0}}},
                  {"d1-misses-l2", {{"value", 2}}},
                  {std::string(63, 'x'), {{"value", 4}}}}));
}

TEST(ReportBencher, LeavesOutUncountedVariants) {
  EXPECT_EQ(json::parse(report_bencher(all_kinds())).size(), 2u);
  EXPECT_EQ(report_bencher({}), "{}\n");
}

TEST(ReportBencher, LongKeysStayDistinct) {
  std::string same(1023, 'x');
  json document = json::parse(report_bencher({measurement(same + "é1", counted({{"ir", 1}})),
                                              measurement(same + "é2", counted({{"ir", 2}})),
                                              measurement(same, counted({{"ir", 3}}))}));
  ASSERT_EQ(document.size(), 3u);
  for (const auto& [name, value] : document.items()) EXPECT_LE(name.size(), 1024u);
  EXPECT_EQ(document[same]["instructions"]["value"], 3);
}

TEST(ReportSmallerIsBetter, HasAnEntryForEachMetric) {
  EXPECT_EQ(
      json::parse(report_smaller_is_better(
          {measurement("a|b\\c", counted({{"ir", 5}, {"alloc_bytes", 0}, {"allocs", 2}})),
           measurement("d", unsteady(210, 212.5))})),
      json::parse(
          R"([
    {"name": "a\\|b\\\\c alloc_bytes", "unit": "bytes", "value": 0, "extra": "20 iterations"},
    {"name": "a\\|b\\\\c allocs", "unit": "allocs", "value": 2, "extra": "20 iterations"},
    {"name": "a\\|b\\\\c", "unit": "instructions", "value": 5, "extra": "20 iterations"},
    {"name": "d", "unit": "instructions", "value": 212.5, "range": "± 2.5",
     "extra": "20 iterations\nnot steady: 210, then 212.5\n)"
          R"(not gated: more than one thread or torch.compile(): the count depends on scheduling or compiling"}])"));
  EXPECT_EQ(report_smaller_is_better({}), "[]\n");
}

TEST(ReportCsv, IsUtf8WithoutControlCharacters) {
  std::string csv = report_csv({measurement("a\xff\x01\tb", Skipped{std::string("n\0l", 3)})}, {});
  EXPECT_NE(csv.find("\r\na\uFFFD\uFFFD     b,"), std::string::npos) << csv;
  EXPECT_TRUE(csv.ends_with(",n\uFFFDl,,\r\n")) << csv;
}

TEST(ReportFormats, EachHasOutput) {
  for (const FormatFacts& one : kReportFormats) {
    EXPECT_NE(report(one.format, all_kinds(), {}), "") << one.name;
  }
}

}  // namespace
}  // namespace instr::report_programs_test
