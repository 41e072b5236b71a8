#include "core/report/explain_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace instr::explain_lines_test {
namespace {

const LineCosts kCosts{10,
                       {{"a.cpp", 12, 200, 200, "reserve(n);"},
                        {"a.cpp", 14, 3670, 9670, "for (float x : n) push_back(x * x);"},
                        {"bench.toml", 7, 30, std::nullopt, "squares(\"|\");"}}};

std::string report(ReportFormat format, ExplainOptions options = {}) {
  return lines_report(format, "a/b", 1174, kCosts, options);
}

TEST(ExplainLines, AsATable) {
  EXPECT_EQ(report(ReportFormat::kTable),
            "a/b: 1,174 instructions per iteration\n\n"
            "self  share  inclusive  share  line                       source\n"
            " 367  31.3%        967  82.4%  a.cpp:14                   for (float x : n) "
            "push_back(x * x);\n"
            "  20   1.7%         20   1.7%  a.cpp:12                   reserve(n);\n"
            "   3   0.3%          -         bench.toml:7               squares(\"|\");\n"
            " 784  66.8%                    code without line numbers\n");
  const std::string narrow = report(ReportFormat::kTable, {.most_functions = 1, .width = 80});
  EXPECT_NE(narrow.find("  for (float x : n) pus\xE2\x80\xA6\n"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("  23   2.0%                    2 other lines\n"), std::string::npos)
      << narrow;
}

TEST(ExplainLines, SortedByInclusiveCost) {
  const LineCosts costs{1, {{"f", 1, 9, 9, ""}, {"f", 2, 1, 50, ""}}};
  const std::string text = lines_report(ReportFormat::kTable, "k", 60, costs,
                                        {.order = ExplainOrder::kInclusive, .width = 0});
  EXPECT_LT(text.find("f:2"), text.find("f:1")) << text;
}

TEST(ExplainLines, AsJsonAndCsvAndMarkdown) {
  const auto json = nlohmann::json::parse(report(ReportFormat::kJson));
  EXPECT_EQ(json["kind"], "lines");
  EXPECT_EQ(json["ir"], 1174);
  ASSERT_EQ(json["lines"].size(), 3U);
  EXPECT_EQ(json["lines"][1], (nlohmann::json{{"file", "a.cpp"},
                                              {"line", 14},
                                              {"self", 367},
                                              {"inclusive", 967},
                                              {"text", "for (float x : n) push_back(x * x);"}}));
  EXPECT_TRUE(json["lines"][2]["inclusive"].is_null());
  EXPECT_EQ(report(ReportFormat::kCsv),
            "file,line,self,inclusive,text\r\na.cpp,12,20,20,reserve(n);\r\n"
            "a.cpp,14,367,967,for (float x : n) push_back(x * x);\r\n"
            "bench.toml,7,3,,\"squares(\"\"|\"\");\"\r\n");
  EXPECT_NE(report(ReportFormat::kMarkdown).find("| squares(\"\\|\"); |"), std::string::npos)
      << report(ReportFormat::kMarkdown);
}

}  // namespace
}  // namespace instr::explain_lines_test
