// A comparison in the formats for other programs, read by these programs.
#include <cmath>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "core/report/comparison_report.h"
#include "core/results/result_set.h"
#include "tests/formats/consumers.h"
#include "tests/formats/hostile.h"

namespace instr::formats::compare_test {
namespace {

class CompareFormats : public ConsumerTest {
 protected:
  static ResultSet recorded(const std::string& name) {
    return value_of(read_result_set(fixture(name), name));
  }

  static Comparison comparison() {
    return value_of(compare(recorded("before.jsonl"), recorded("after.jsonl")));
  }

  // Hostile keys, metrics, reasons and functions; each fails, warns, gained or passes.
  static Comparison hostile() {
    Comparison hostile;
    hostile.before_name = "before\x01<\xff>";
    hostile.after_name = "after\"";
    hostile.problems = hostile_texts();
    hostile.verdict = Verdict::kFails;
    int number = 0;
    for (const std::string& text : hostile_texts()) {
      ComparedRow& row = hostile.rows.emplace_back();
      row.key = text;
      row.state = static_cast<RowState>(number % 10);
      row.verdict = static_cast<Verdict>(number++ % 4);
      row.reason = text;
      row.metrics = {{"instructions", 0, 12, Limit{0.5, 100}, {}, row.verdict},
                     {text, std::nan(""), 0, {}, {}, Verdict::kPasses},
                     {"gone", 3, {}, {}, {}, Verdict::kPasses}};
      row.attribution = Attribution{"instructions", 12, {{text, text, text}}, 2, 1, std::nan("")};
      ++hostile.summary.rows[row.state];
      ++hostile.summary.verdicts[row.verdict];
    }
    return hostile;
  }

  static std::string text_of(ReportFormat format, const Comparison& comparison) {
    return value_of(compare_report(format, comparison));
  }
};

std::map<std::string, json> by(const char* name, const json& list) {
  std::map<std::string, json> found;
  for (const json& one : list) found[one[name]] = one;
  return found;
}

TEST_F(CompareFormats, Json) {
  json document = read("json", text_of(ReportFormat::kJson, comparison()));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["before"], "before.jsonl");
  EXPECT_EQ(document["after"], "after.jsonl");
  EXPECT_EQ(document["verdict"], "fails");
  EXPECT_EQ(document["summary"]["states"]["slower"], 2);
  EXPECT_EQ(document["summary"]["states"]["failed_after"], 1);
  EXPECT_EQ(document["summary"]["verdicts"]["fails"], comparison().summary.count(Verdict::kFails));
  auto rows = by("key", document["rows"]);
  EXPECT_EQ(rows.size(), 12u);
  const json& row = rows.at("pointwise/add/n=4/eager/forward/t1/cpu");
  EXPECT_EQ(row["metrics"]["instructions"].dump(),
            R"({"after":10714,"before":5357,"change":5357,"hard":{"percent":0.5},"relative":1,)"
            R"("soft":{"percent":0.1},"verdict":"fails"})");
  const json& attribution = row["attribution"];
  EXPECT_EQ(attribution["difference"], 5357);
  double sum =
      attribution["others"]["change"].get<double>() + attribution["unexplained"].get<double>();
  for (const json& function : attribution["functions"]) sum += function["change"].get<double>();
  EXPECT_EQ(sum, 5357);
  EXPECT_EQ(attribution["functions"].size(), 10u);
  EXPECT_EQ(attribution["functions"][0]["calls_after"],
            2 * attribution["functions"][0]["calls_before"].get<double>());
  EXPECT_EQ(rows.at("gone/one/eager/forward/t1/cpu")["state"], "missing");
  EXPECT_EQ(rows.at("breaks/later/eager/forward/t1/cpu")["reason"],
            "exception: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
}

TEST_F(CompareFormats, JsonLinesSayTheSame) {
  for (const Comparison& compared : {comparison(), hostile()}) {
    json document = read("json", text_of(ReportFormat::kJson, compared));
    json lines = read("jsonl", text_of(ReportFormat::kJsonl, compared));
    ASSERT_EQ(lines.size(), compared.rows.size() + 2);
    EXPECT_EQ(lines.back()["summary"], document["summary"]);
    for (std::size_t i = 0; i < compared.rows.size(); ++i) {
      EXPECT_EQ(lines[i + 1], document["rows"][i]);
    }
    json head = lines.front();
    for (const auto& [name, value] : head.items()) EXPECT_EQ(value, document[name]) << name;
    EXPECT_EQ(head.size() + 2, document.size());
  }
}

TEST_F(CompareFormats, HostileJunit) {
  Comparison compared = hostile();
  json suite = read_junit(text_of(ReportFormat::kJunit, compared))[0];
  ASSERT_EQ(suite["cases"].size(), compared.rows.size() + 1);
  EXPECT_EQ(suite["failures"], compared.summary.count(Verdict::kFails));
  EXPECT_EQ(suite["cases"][0]["name"], "the comparison as a whole");
}

TEST_F(CompareFormats, HostileCsv) {
  Comparison compared = hostile();
  json lines = read("csv", text_of(ReportFormat::kCsv, compared));
  ASSERT_EQ(lines.size(), compared.rows.size() * 3);
  for (std::size_t i = 0; i < compared.rows.size(); ++i) {
    EXPECT_EQ(lines[i * 3]["key"], as_cell(printable(compared.rows[i].key, true)));
    EXPECT_EQ(lines[i * 3]["relative"], "");  // from 0
    EXPECT_EQ(lines[i * 3 + 1]["before"], "");
    EXPECT_EQ(lines[i * 3 + 1]["metric"], as_cell(printable(compared.rows[i].key, true)));
  }
}

}  // namespace
}  // namespace instr::formats::compare_test
