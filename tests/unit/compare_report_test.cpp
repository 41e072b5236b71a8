// Comparisons in the formats that other programs read, as text; tests/formats has the programs read
// them.

#include <nlohmann/json.hpp>

#include "core/report/comparison_report.h"
#include "core/results/result_set.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::compare_report_test {
namespace {

using namespace testing;

using nlohmann::json;

Comparison compared(std::vector<Measurement> old, std::vector<Measurement> now,
                    const CompareOptions& options = {}) {
  return value_of(compare(before(std::move(old)), after(std::move(now)), options));
}

std::string in_json(const Comparison& comparison) {
  return value_of(compare_report(ReportFormat::kJson, comparison));
}

std::string in_csv(const Comparison& comparison) {
  return value_of(compare_report(ReportFormat::kCsv, comparison));
}

TEST(CompareJson, AbsentValuesAreNull) {
  Comparison comparison = compared({counted("a", {{"instructions", 0}, {"allocs", 2}})},
                                   {counted("a", {{"instructions", 3}})});
  EXPECT_GOLDEN("compare/absent_values.txt",
                json_lines(json::parse(in_json(comparison))["rows"][0]));
}

TEST(CompareJson, SummaryOfNothing) {
  json document = json::parse(in_json(compared({}, {})));
  EXPECT_EQ(document["summary"].dump(),
            R"({"comparable":0,"ratio":null,"ratio_rows":0,"states":{},"verdicts":{}})");
  EXPECT_EQ(document["problems"].dump(),
            R"(["there is nothing to compare: both results are empty"])");
  EXPECT_EQ(document["rows"].dump(), "[]");
}

TEST(CompareJson, SaysWhichSideWasTimedOnABusyMachine) {
  Counted timed;
  timed.steady = true;
  timed.timing = Timing{{{"wall", {1, 2, 3, 4}}}, 100, {}, 0.5};
  add_times(timed.metrics, *timed.timing);
  Measurement measurement = counted("a", 100);
  measurement.outcome = timed;
  const ResultSet busy = after({measurement});
  std::get<Counted>(measurement.outcome).timing->others = 0;
  const json document = json::parse(in_json(compare(before({measurement}), busy).value()));
  EXPECT_EQ(document["problems"].dump(),
            "[\"" + busy.name +
                ": busy machine: during 1 of 1 timings other processes used up to "
                "0.5 cores; times are longer and vary more\"]");
}

TEST(CompareJson, HasTheFunctionsOfAChange) {
  ResultSet old = before({counted("a", 100)});
  ResultSet now = after({counted("a", 130)});
  old.functions = functions_from({{"a", {{"f(int)", "libx.so.1", 60}, {"g", "liby.so", 40}}}});
  now.functions = functions_from({{"a", {{"f(int)", "libx.so.1", 80}, {"h", "liby.so", 45}}}});
  const json rows = json::parse(in_json(compare(old, now).value_or(Comparison{})))["rows"];
  EXPECT_GOLDEN("compare/functions.txt", json_lines(rows[0]["attribution"]));
}

TEST(CompareJunit, HasTheStateOfEachKey) {
  const Comparison comparison =
      compared({counted("m/mm/n=4/eager/forward/t1/cpu", 1000), counted("warns", 1000),
                counted("gains", 1000), counted("same", 1000), counted("skipped", 1000),
                counted("missing", 1000), counted("broken", 1000)},
               {counted("m/mm/n=4/eager/forward/t1/cpu", 1010), counted("warns", 1002),
                counted("gains", 900), counted("same", 1000), skipped("skipped"), counted("new", 1),
                failed("broken", FailureKind::kCrashed, "signal 11\nat <start>")});
  EXPECT_GOLDEN("compare/all_states.xml", compare_junit(comparison));
}

TEST(CompareJunit, AllowedMissingRowsAreSkipped) {
  const Comparison comparison = compared({counted("a", 1), counted("b", 1)},
                                         {skipped("a"), counted("b", 1)}, {.allow_missing = true});
  EXPECT_GOLDEN("compare/allowed_missing.xml", compare_junit(comparison));
}

// A comparison that fails without a failing row must not look like a pass.
TEST(CompareJunit, FailsAsAWhole) {
  EXPECT_GOLDEN("compare/nothing.xml", compare_junit(compared({}, {})));
  EXPECT_GOLDEN("compare/nothing_is_allowed.xml",
                compare_junit(compared({}, {}, {.allow_nothing = true})));
  Comparison unnamed;
  unnamed.verdict = Verdict::kFails;
  EXPECT_GOLDEN("compare/fails_without_a_reason.xml", compare_junit(unnamed));
}

TEST(CompareJunit, ClassIsTheLabel) {
  auto class_of = [](const std::string& key) {
    std::string xml = compare_junit(compared({counted(key, 1)}, {counted(key, 1)}));
    auto begin = xml.find("classname=\"") + 11;
    return xml.substr(begin, xml.find('"', begin) - begin);
  };
  EXPECT_EQ(class_of("a/b/n=4/k=5/eager/forward/t1/cpu"), "a/b");
  EXPECT_EQ(class_of("a/b/0/eager/forward/t1/cpu"), "a/b/0");
  EXPECT_EQ(class_of("a/b/py/eager/forward/t1/cpu"), "a/b");
  EXPECT_EQ(class_of("n=4/eager/forward/t1/cpu"), "n=4");
  EXPECT_EQ(class_of("eager/forward/t1/cpu"), "eager");
  EXPECT_EQ(class_of("/eager/forward/t1/cpu"), "/eager/forward/t1/cpu");
  EXPECT_EQ(class_of("//"), "//");
  EXPECT_EQ(class_of("plain"), "plain");
}

TEST(CompareCsv, HasALineForEachMetric) {
  EXPECT_GOLDEN(
      "compare/metrics.csv",
      in_csv(compared(
          {counted("a,\"b\"", {{"instructions", 1000}, {"odd", 0}}),
           counted("c", {{"instructions", 1}}), failed("d", FailureKind::kExited, "2")},
          {counted("a,\"b\"", {{"instructions", 1001}, {"odd", 2.5}}),
           failed("c", FailureKind::kExited, "1\n2"), failed("d", FailureKind::kExited, "3 ")})));
}

}  // namespace
}  // namespace instr::compare_report_test
