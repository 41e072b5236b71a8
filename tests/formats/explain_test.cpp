// An explanation in the formats for other programs, read by these programs.
#include "core/report/explain.h"

#include <cmath>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "tests/formats/consumers.h"
#include "tests/formats/hostile.h"

namespace instr::formats::explain_test {
namespace {

class ExplainFormats : public ConsumerTest {
 protected:
  // A hostile function with a hostile caller for each text.
  static Explanation hostile() {
    Explanation all;
    all.key = "not UTF-8: \xff";
    all.total = 100;
    all.has_calls = true;
    for (const std::string& text : hostile_texts()) {
      ExplainedFunction& function = all.functions.emplace_back();
      function.code = {text, text, true};
      function.self = 2;
      function.inclusive = 7;
      function.callers = {{{text, text, true}, 5, 1}, {{"plain", "unit", true}, std::nan(""), 0.5}};
    }
    return all;
  }
};

TEST_F(ExplainFormats, Json) {
  const json document = read("json", explain_report(ReportFormat::kJson, hostile()));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["kind"], "explanation");
  ASSERT_EQ(document["functions"].size(), hostile_texts().size());
  for (std::size_t i = 0; i < hostile_texts().size(); ++i) {
    const json& one = document["functions"][i];
    EXPECT_EQ(one["inclusive"], 7);
    EXPECT_EQ(one["callers"][0]["function"], one["function"]);
    EXPECT_EQ(one["callers"][1]["calls"], 0.5);
    EXPECT_TRUE(one["callers"][1]["inclusive"].is_null());
  }
  EXPECT_EQ(document["functions"][0]["function"], "plain");
}

TEST_F(ExplainFormats, Csv) {
  const json lines = read("csv", explain_report(ReportFormat::kCsv, hostile()));
  ASSERT_EQ(lines.size(), 3 * hostile_texts().size());
  for (std::size_t i = 0; i < hostile_texts().size(); ++i) {
    const json& function = lines[3 * i];
    EXPECT_EQ(function["self"], "2");
    EXPECT_EQ(function["caller"], "");
    const json& caller = lines[3 * i + 1];
    EXPECT_EQ(caller["caller_object"], function["object"]);
    EXPECT_EQ(caller["self"], "");
    EXPECT_EQ(caller["inclusive"], "5");
  }
  EXPECT_EQ(lines[3]["function"], hostile_texts()[1]);
}

}  // namespace
}  // namespace instr::formats::explain_test
