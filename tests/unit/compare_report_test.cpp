// Comparisons in the formats that other programs read, as text; tests/formats has the programs read
// them.
#include "core/compare/compare_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/testing.h"

namespace instr::compare_report_test {
namespace {

using namespace testing;

using nlohmann::json;

Comparison compared(std::vector<Measurement> old, std::vector<Measurement> now,
                    const CompareOptions& options = {}) {
  return value_of(compare(before(std::move(old)), after(std::move(now)), options));
}

TEST(CompareReport, ChoosesByFormat) {
  Comparison one = compared({counted("a", 100)}, {counted("a", 120)});
  EXPECT_EQ(compare_report(ReportFormat::kTable, one), compare_table(one));
  EXPECT_EQ(compare_report(ReportFormat::kMarkdown, one), compare_markdown(one));
  EXPECT_EQ(compare_report(ReportFormat::kJson, one), compare_json(one));
  EXPECT_EQ(compare_report(ReportFormat::kJsonl, one), compare_jsonl(one));
  EXPECT_EQ(compare_report(ReportFormat::kCsv, one), compare_csv(one));
  EXPECT_EQ(compare_report(ReportFormat::kJunit, one), compare_junit(one));
  for (auto [format, name] :
       {std::pair{ReportFormat::kGbench, "gbench"}, std::pair{ReportFormat::kBencher, "bencher"},
        std::pair{ReportFormat::kSmallerIsBetter, "smaller-is-better"}}) {
    auto refused = compare_report(format, one);
    ASSERT_FALSE(refused);
    EXPECT_EQ(to_string(refused.error()),
              std::string("the format ") + name +
                  " cannot express a comparison, only one run: print the new "
                  "results in it instead: `instr_bench baseline show FILE --format=" +
                  name + "`");
  }
}

TEST(CompareReport, PassesItsOptionsOn) {
  Comparison one = compared({counted("a", 100)}, {counted("a", 100)});
  CompareReportOptions options;
  options.table.show_same = true;
  EXPECT_EQ(compare_report(ReportFormat::kTable, one, options), compare_table(one, options.table));
  EXPECT_NE(compare_report(ReportFormat::kTable, one, options), compare_table(one));
}

TEST(CompareJson, AbsentValuesAreNull) {
  Comparison one =
      compared({counted("a", {{"ir", 0}, {"allocs", 2}})}, {counted("a", {{"ir", 3}})});
  EXPECT_EQ(json::parse(compare_json(one))["rows"][0]["metrics"], json::parse(R"({
    "ir": {"before": 0, "after": 3, "change": 3, "relative": null,
           "hard": {"percent": 0.5}, "soft": {"percent": 0.1}, "verdict": "fails"},
    "allocs": {"before": 2, "after": null, "change": null, "relative": null,
               "hard": {"absolute": 0}, "soft": null, "verdict": "passes"}})"));
}

TEST(CompareJson, SummaryOfNothing) {
  json document = json::parse(compare_json(compared({}, {})));
  EXPECT_EQ(document["summary"].dump(),
            R"({"comparable":0,"ratio":null,"ratio_rows":0,"states":{},"verdicts":{}})");
  EXPECT_EQ(document["problems"].dump(),
            R"(["there is nothing to compare: both results are empty"])");
  EXPECT_EQ(document["rows"].dump(), "[]");
}

TEST(CompareJson, HasTheFunctionsOfAChange) {
  ResultSet old = before({counted("a", 100)});
  ResultSet now = after({counted("a", 130)});
  old.functions = functions_from({{"a", {{"f(int)", "libx.so.1", 60}, {"g", "liby.so", 40}}}});
  now.functions = functions_from({{"a", {{"f(int)", "libx.so.1", 80}, {"h", "liby.so", 45}}}});
  json rows = json::parse(compare_json(compare(old, now).value_or(Comparison{})))["rows"];
  const json& attribution = rows[0]["attribution"];
  EXPECT_EQ(attribution["difference"], 30);
  ASSERT_EQ(attribution["functions"].size(), 3u);
  const json& gained = attribution["functions"][0];
  EXPECT_EQ(gained["function"], "h");
  EXPECT_EQ(gained["state"], "new");
  EXPECT_EQ(gained["object"], "liby.so");
  EXPECT_EQ(attribution["functions"][1]["state"], "gone");
  EXPECT_EQ(attribution["functions"][2]["state"], "moved");
  EXPECT_EQ(attribution["functions"][2]["change"], 20);
  EXPECT_EQ(attribution["unexplained"], 5);
}

std::string after_text(const std::string& text, const std::string& mark) {
  auto at = text.find(mark);
  return at == std::string::npos ? text : text.substr(at, text.find("</testcase>", at) - at);
}

TEST(CompareJunit, HasTheStateOfEachKey) {
  std::string xml = compare_junit(
      compared({counted("m/mm/n=4/eager/forward/t1/cpu", 1000), counted("warns", 1000),
                counted("gains", 1000), counted("same", 1000), counted("skipped", 1000),
                counted("missing", 1000), counted("broken", 1000)},
               {counted("m/mm/n=4/eager/forward/t1/cpu", 1010), counted("warns", 1002),
                counted("gains", 900), counted("same", 1000), skipped("skipped"), counted("new", 1),
                failed("broken", FailureKind::kCrashed, "signal 11\nat <start>")}));
  EXPECT_NE(xml.find("name=\"instr_bench compare\" tests=\"8\" failures=\"4\" errors=\"0\" "),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<testcase classname=\"m/mm\" name=\"m/mm/n=4/eager/forward/t1/cpu\" "
                     "time=\"0.000\">\n      <failure type=\"slower\" message=\"slower, fails: "
                     "instructions 1,000 -&gt; 1,010 (+10, +1.00%), limit 0.5%\">"),
            std::string::npos)
      << xml;
  EXPECT_TRUE(after_text(xml, " name=\"warns\"")
                  .starts_with(" name=\"warns\" time=\"0.000\">\n      <system-out>slower, warns: "
                               "instructions 1,000 -&gt; 1,002 (+2, +0.20%), limit 0.1%\n"));
  EXPECT_NE(after_text(xml, " name=\"gains\"").find("<system-out>faster, gain: instructions 1,000"),
            std::string::npos);
  EXPECT_NE(after_text(xml, " name=\"same\"").find("<system-out>same\n"), std::string::npos);
  EXPECT_NE(after_text(xml, " name=\"new\"").find("<system-out>new\n"), std::string::npos);
  EXPECT_NE(after_text(xml, " name=\"missing\"")
                .find("<failure type=\"missing\" message=\"missing, fails"),
            std::string::npos);
  EXPECT_NE(after_text(xml, " name=\"skipped\"")
                .find("<failure type=\"skipped\" message=\"skipped, fails: needs CUDA\">"),
            std::string::npos)
      << xml;
  EXPECT_NE(after_text(xml, " name=\"broken\"")
                .find("<failure type=\"failed after\" message=\"failed after, fails: crashed: "
                      "signal 11\">crashed: signal 11\nat &lt;start&gt;\n"),
            std::string::npos)
      << xml;
}

TEST(CompareJunit, AllowedMissingRowsAreSkipped) {
  CompareOptions options;
  options.allow_missing = true;
  std::string xml = compare_junit(
      compared({counted("a", 1), counted("b", 1)}, {skipped("a"), counted("b", 1)}, options));
  EXPECT_NE(after_text(xml, " name=\"a\"").find("<skipped message=\"needs CUDA\"/>"),
            std::string::npos)
      << xml;
}

// A comparison that fails without a failing row must not look like a pass.
TEST(CompareJunit, FailsAsAWhole) {
  std::string xml = compare_junit(compared({}, {}));
  EXPECT_NE(xml.find("tests=\"1\" failures=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<failure type=\"comparison\" message=\"there is nothing to compare: both "
                     "results are empty\">"),
            std::string::npos)
      << xml;
  CompareOptions options;
  options.allow_nothing = true;
  xml = compare_junit(compared({}, {}, options));
  EXPECT_NE(xml.find("tests=\"1\" failures=\"0\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<system-out>there is nothing to compare"), std::string::npos) << xml;
  Comparison unnamed;
  unnamed.verdict = Verdict::kFails;
  EXPECT_NE(compare_junit(unnamed).find("message=\"the comparison fails\"/>"), std::string::npos);
}

TEST(CompareJunit, ClassIsTheLabel) {
  auto class_of = [](const std::string& key) {
    std::string xml = compare_junit(compared({counted(key, 1)}, {counted(key, 1)}));
    auto begin = xml.find("classname=\"") + 11;
    return xml.substr(begin, xml.find('"', begin) - begin);
  };
  EXPECT_EQ(class_of("a/b/n=4/k=5/eager/forward/t1/cpu"), "a/b");
  EXPECT_EQ(class_of("a/b/0/eager/forward/t1/cpu"), "a/b/0");
  EXPECT_EQ(class_of("n=4/eager/forward/t1/cpu"), "n=4");
  EXPECT_EQ(class_of("eager/forward/t1/cpu"), "eager/forward/t1/cpu");
  EXPECT_EQ(class_of("/eager/forward/t1/cpu"), "/eager/forward/t1/cpu");
  EXPECT_EQ(class_of("//"), "//");
  EXPECT_EQ(class_of("plain"), "plain");
}

TEST(CompareCsv, HasALineForEachMetric) {
  EXPECT_EQ(
      compare_csv(compared(
          {counted("a,\"b\"", {{"ir", 1000}, {"odd", 0}}), counted("c", {{"ir", 1}}),
           failed("d", FailureKind::kExited, "2")},
          {counted("a,\"b\"", {{"ir", 1001}, {"odd", 2.5}}),
           failed("c", FailureKind::kExited, "1\n2"), failed("d", FailureKind::kExited, "3 ")})),
      "key,state,verdict,metric,before,after,change,relative,hard_percent,hard_absolute,"
      "soft_percent,soft_absolute,metric_verdict,reason\r\n"
      "c,failed_after,fails,ir,1,,,,0.5,,0.1,,passes,\"exited: 1\n2\"\r\n"
      "d,failed_both,fails,,,,,,,,,,,\"exited: 3 \"\r\n"
      "\"a,\"\"b\"\"\",slower,passes,ir,1000,1001,1,0.001,0.5,,0.1,,passes,\r\n"
      "\"a,\"\"b\"\"\",slower,passes,odd,0,2.5,2.5,,,,,,passes,\r\n");
}

}  // namespace
}  // namespace instr::compare_report_test
