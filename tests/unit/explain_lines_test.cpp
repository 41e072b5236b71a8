#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/report/explain.h"
#include "tests/golden.h"

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
  EXPECT_GOLDEN("explain/lines.txt", report(ReportFormat::kTable));
  EXPECT_GOLDEN("explain/lines_in_a_narrow_table.txt",
                report(ReportFormat::kTable, {.max_functions = 1, .render = {.width = 80}}));
}

TEST(ExplainLines, SortedByInclusiveCost) {
  const LineCosts costs{1, {{"f", 1, 9, 9, ""}, {"f", 2, 1, 50, ""}}};
  EXPECT_GOLDEN(
      "explain/lines_by_inclusive_cost.txt",
      lines_report(ReportFormat::kTable, "k", 60, costs, {.order = ExplainOrder::kInclusive}));
}

TEST(ExplainLines, AsJsonAndCsvAndMarkdown) {
  auto json = nlohmann::ordered_json::parse(report(ReportFormat::kJson));
  json.erase("version");
  EXPECT_GOLDEN("explain/lines.json", json.dump(2) + "\n");
  EXPECT_GOLDEN("explain/lines.csv", report(ReportFormat::kCsv));
  EXPECT_GOLDEN("explain/lines.md", report(ReportFormat::kMarkdown));
}

}  // namespace
}  // namespace instr::explain_lines_test
