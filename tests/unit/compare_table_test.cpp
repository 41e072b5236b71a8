#include <cmath>

#include "core/base/format.h"
#include "core/report/comparison_report.h"
#include "core/results/result_set.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::compare_table_test {
namespace {

using namespace testing;

Comparison comparison_of(std::vector<Measurement> first, std::vector<Measurement> second) {
  return value_of(compare(before(std::move(first)), after(std::move(second))));
}

std::string in_table(const Comparison& comparison, const CompareReportOptions& options = {}) {
  return value_of(compare_report(ReportFormat::kTable, comparison, options));
}

std::string in_markdown(const Comparison& comparison, const CompareReportOptions& options = {}) {
  return value_of(compare_report(ReportFormat::kMarkdown, comparison, options));
}

// A row of each kind, with functions.
Comparison example() {
  Measurement more = counted("matmul/mm/n=64/eager/forward/t1/cpu", 1638400);
  std::get<Counted>(more.outcome).metrics["allocs"] = 3;
  ResultSet first = before({counted("matmul/mm/n=64/eager/forward/t1/cpu", 1234567),
                            counted("pointwise/add/eager/forward/t1/cpu", 5000),
                            counted("same", 10), counted("gone", 10), failed("broken")});
  ResultSet second = after({more, counted("pointwise/add/eager/forward/t1/cpu", 4999),
                            counted("same", 10), counted("fresh", 12), failed("broken")});
  first.functions = functions_from({{"matmul/mm/n=64/eager/forward/t1/cpu",
                                     {{"sgemm_", "libblas.so.3", 1200000, 1},
                                      {"at::mm(at::Tensor const&)", "libtorch_cpu.so", 34567}}}});
  second.functions = functions_from({{"matmul/mm/n=64/eager/forward/t1/cpu",
                                      {{"sgemm_", "libblas.so.3", 1600000, 1.25},
                                       {"at::mm(at::Tensor const&)", "libtorch_cpu.so", 34567},
                                       {"at::check()", "libtorch_cpu.so", 3833}}}});
  return *compare(first, second);
}

TEST(CompareText, Changes) {
  EXPECT_EQ(format_change(0), "0");
  EXPECT_EQ(format_change(1234567), "+1,234,567");
  EXPECT_EQ(format_change(-1), "-1");
  EXPECT_EQ(format_change(-1234.56), "-1,234.6");
  EXPECT_EQ(format_change(1999.96), "+2,000");
  EXPECT_EQ(format_change(0.5), "+0.5");
  EXPECT_EQ(format_change(0.0166), "+0.017");
  EXPECT_EQ(format_change(-0.0001), "-0.0001");
  EXPECT_EQ(format_change(INFINITY), "-");
}

TEST(CompareText, Shares) {
  EXPECT_EQ(format_relative(std::nullopt), "");
  EXPECT_EQ(format_relative(0), "");
  EXPECT_EQ(format_relative(INFINITY), "from 0");
  EXPECT_EQ(format_relative(0.0031), "+0.31%");
  EXPECT_EQ(format_relative(-0.123), "-12.3%");
  EXPECT_EQ(format_relative(0.00001), "+<0.01%");
  EXPECT_EQ(format_relative(-1), "-100%");
  EXPECT_EQ(format_relative(12.34), "+1,234%");
}

double number_of(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return std::stod(text);
}

TEST(CompareText, TheFiguresShownAddUp) {
  for (double difference : {3.25, 100.0, 12.3456, 1000000.7, -0.333}) {
    for (std::size_t max : {1U, 3U, 50U}) {
      std::vector<FunctionCost> first;
      std::vector<FunctionCost> second;
      double explained = 0;
      for (int i = 1; i <= 40; ++i) {
        first.push_back({"f" + std::to_string(i), "x.so", 1000.0 / i});
        second.push_back({"f" + std::to_string(i), "x.so", 1000.0 / i + difference / (i + 30)});
        explained += difference / (i + 30);
      }
      for (double whole : {difference, explained}) {
        auto attribution = Attributor({max}).attribute(first, second, whole);
        double sum = 0;
        for (const AttributionLine& line : attribution_lines(attribution, 60)) {
          sum += number_of(line.change);
        }
        EXPECT_NEAR(sum, number_of(format_change(whole)), 1e-9) << whole << " " << max;
      }
    }
  }
}

TEST(CompareText, NewAndGoneFunctionsAndTheRestAreNamed) {
  auto attribution = Attributor().attribute(
      {{"old", "a.so.1", 9}, {"0x01", "a.so", 1}, {"f(int)", "a.so", 1}, {"g", "b.so", 1}},
      {{"young", "a.so", 5}, {"0x02", "a.so", 4}, {"f(long)", "a.so", 2}, {"g", "a.so", 3}}, 3);
  std::string text;
  for (const AttributionLine& line : attribution_lines(attribution, 80)) {
    text += line.change + " " + line.function + " " + line.object + "\n";
  }
  EXPECT_GOLDEN("compare/attribution.txt", text);
}

TEST(CompareText, CallsAreShownWhereTheyMoved) {
  auto attribution = Attributor().attribute({{"a", "x.so", 90, 1},
                                             {"b", "x.so", 80, 2},
                                             {"c", "x.so", 70, 0.5},
                                             {"d", "x.so", 60, 1. / 60}},
                                            {{"a", "x.so", 190, 1234},
                                             {"b", "x.so", 170, 2},
                                             {"c", "x.so", 150, 1.25},
                                             {"d", "x.so", 130, 0.04},
                                             {"e", "x.so", 60, 3},
                                             {"f", "x.so", 50, 0.02}},
                                            450);
  std::vector<std::string> calls;
  for (const AttributionLine& line : attribution_lines(attribution, 80))
    calls.push_back(line.calls);
  EXPECT_EQ(calls, (std::vector<std::string>{"1 -> 1,234", "", "0.5 -> 1.3", "", "0 -> 3", ""}));
}

TEST(CompareText, VerdictsCount) {
  EXPECT_EQ(verdict_line(example()), "3 benchmarks fail");
  EXPECT_EQ(verdict_line(comparison_of({counted("a", 1)}, {counted("a", 1)})),
            "all within the limits");
  EXPECT_EQ(verdict_line(comparison_of({}, {})), "nothing was judged");
  EXPECT_EQ(verdict_line(
                comparison_of({failed("a"), counted("b", 1)}, {counted("a", 1), counted("b", 1)})),
            "within the limits, but 1 benchmark that failed before could not be judged");
  Measurement loose = counted("a", 1);
  loose.variant.limits["instructions"] = "none";
  EXPECT_EQ(verdict_line(comparison_of({counted("a", 1)}, {loose})),
            "all within the limits, with a warning");
  EXPECT_EQ(
      verdict_line(comparison_of({counted("a", 1000), counted("b", 1000), counted("c", 1000)},
                                 {counted("a", 1003), counted("b", 900), counted("c", 2000)})),
      "1 benchmark fails, 1 warns, 1 gained more than the limit: refresh the baseline");
  EXPECT_EQ(comparison_summary_line(example().summary),
            "1 same, 1 slower, 1 faster, 1 new, 1 missing, 1 failed both; "
            "instructions on the geometric mean: +9.89% (3 benchmarks)");
}

TEST(CompareTable, WideOne) { EXPECT_GOLDEN("compare/table.txt", in_table(example())); }

TEST(CompareTable, OtherMetricsAreNamedAndEqualInstructionsShown) {
  EXPECT_GOLDEN(
      "compare/other_metrics.txt",
      in_table(comparison_of({counted("a", {{"instructions", 7}, {"allocs", 1}, {"D1mr", 0}}),
                              counted("b", {{"allocs", 1}})},
                             {counted("a", {{"instructions", 7}, {"allocs", 1}, {"D1mr", 4}}),
                              counted("b", {{"allocs", 2}})})));
}

TEST(CompareTable, SameRowsOnlyOnRequest) {
  const Comparison same = comparison_of({counted("a", 1)}, {counted("a", 1)});
  CompareReportOptions options;
  EXPECT_GOLDEN("compare/without_same_rows.txt", in_table(same, options));
  options.show_same = true;
  EXPECT_GOLDEN("compare/same_rows.txt", in_table(same, options));
}

TEST(CompareTable, FitsEveryWidth) {
  Comparison comparison = example();
  comparison.rows[2].reason = "no spaces: " + std::string(500, 'x') + "\nand\nmore\nlines";
  for (std::size_t width = 40; width < 140; ++width) {
    CompareReportOptions options;
    options.render.width = width;
    for (const std::string& line : split_lines(in_table(comparison, options))) {
      EXPECT_LE(display_width(line), width) << line;
    }
  }
  // 40: no space for calls, the functions' names come first.
  for (const std::size_t width : {40U, 75U}) {
    CompareReportOptions options;
    options.render.width = width;
    EXPECT_GOLDEN("compare/table_of_" + std::to_string(width) + "_columns.txt",
                  in_table(example(), options));
  }
}

TEST(CompareTable, KeysAreWholeOnRequest) {
  CompareReportOptions options;
  options.render.width = 80;
  EXPECT_FALSE(has(in_table(example(), options), "matmul/mm/n=64/eager/forward/t1/cpu  "));
  options.show_keys = true;
  for (options.render.width = 1; options.render.width < 140; ++options.render.width) {
    EXPECT_FALSE(has(in_table(example(), options), "/…")) << options.render.width;
    EXPECT_HAS(in_table(example(), options), "pointwise/add/eager/forward/t1/cpu")
        << options.render.width;
  }
}

TEST(CompareTable, ColourIsOnRequestAndOutsideTheText) {
  CompareReportOptions options;
  options.render.color = true;
  EXPECT_GOLDEN("compare/table_in_color.txt", in_table(example(), options));
}

TEST(CompareTable, RowsWhoseFunctionsAreNotShownAreCounted) {
  const CompareReportOptions options{.max_attributions = 0};
  EXPECT_GOLDEN("compare/functions_not_shown.txt", in_table(example(), options));
  EXPECT_GOLDEN("compare/functions_unknown.txt",
                in_table(comparison_of({counted("a", 1)}, {counted("a", 2)}), options));
}

const char* const kStrange = "a|b`c\n\x1b[31m<script>@team 日本 \"q\" \xff *x* [l](u) $m$ #1\\";

TEST(CompareTable, StrangeKeysAreSafe) {
  auto comparison = comparison_of(
      {counted(kStrange, 1), failed("k")},
      {counted(kStrange, 9), failed("k", FailureKind::kException, "bad|\x1b[2J\n</details>")});
  EXPECT_GOLDEN("compare/strange_keys.txt", in_table(comparison));
  for (const std::size_t width : {30U, 60U, 100U}) {
    CompareReportOptions options;
    options.render.width = width;
    EXPECT_FALSE(has(in_table(comparison, options), "\x1b"));
  }
}

// Cells of a table's row: bars that are not escaped.
std::size_t bars(const std::string& line) {
  return static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
}

void expect_whole(const std::string& markdown) {
  std::size_t open = 0;
  std::size_t closed = 0;
  std::size_t cells = 0;
  for (const std::string& line : split_lines(markdown)) {
    if (line == "<details>") ++open;
    if (line == "</details>") ++closed;
    if (!line.starts_with('|')) {
      cells = 0;
      continue;
    }
    if (cells == 0) cells = bars(line);
    EXPECT_EQ(bars(line), cells) << line;
  }
  EXPECT_EQ(open, closed);
}

TEST(CompareMarkdown, Example) {
  const std::string text = in_markdown(example());
  expect_whole(text);
  EXPECT_GOLDEN("compare/table.md", text);
}

TEST(CompareMarkdown, NothingFoldedWhereThereIsNothing) {
  EXPECT_GOLDEN("compare/all_same.md",
                in_markdown(comparison_of({counted("a", 1)}, {counted("a", 1)})));
}

TEST(CompareMarkdown, StrangeKeysBreakNothing) {
  auto comparison =
      comparison_of({counted(kStrange, 1), counted("k", 1)},
                    {counted(kStrange, 9), counted(std::string("new") + kStrange, 1),
                     failed("k", FailureKind::kException, "bad|\x1b[2J\n</details>")});
  std::string text = in_markdown(comparison);
  expect_whole(text);
  EXPECT_GOLDEN("compare/strange_keys.md", text);
}

// Many rows of every kind, each with functions.
Comparison huge(const std::string& key_end) {
  std::vector<Measurement> first;
  std::vector<Measurement> second;
  std::map<std::string, std::vector<FunctionCost>> functions;
  for (int i = 0; i < 10000; ++i) {
    std::string key = std::to_string(i) + key_end;
    first.push_back(counted(key, 1e6));
    if (i % 10 == 0) continue;
    second.push_back(i % 10 == 1 ? failed(key, FailureKind::kException, std::string(5000, '|'))
                                 : counted(key, 1e6 + i));
    functions[key] = {{"f|" + key_end, "x.so", 1e6 + (i % 2) * i}};
  }
  ResultSet left = before(first);
  ResultSet right = after(second);
  left.functions = functions_from(functions);
  right.functions = functions_from(functions);
  right.results.is_complete = false;
  return *compare(left, right);
}

TEST(CompareMarkdown, NeverLongerThanItsLimit) {
  for (const std::string& end :
       {std::string("/eager"), std::string(600, '|'), std::string("語`")}) {
    Comparison comparison = huge(end);
    for (std::size_t max : {2000U, 5000U, 60000U}) {
      CompareReportOptions options;
      options.render.max_bytes = max;
      std::string text = in_markdown(comparison, options);
      EXPECT_LE(text.size(), max);
      EXPECT_TRUE(text.starts_with("**instr_bench: "));
      EXPECT_HAS(text, "\nLeft out, to stay within ");
      expect_whole(text);
    }
  }
  EXPECT_GT(in_markdown(huge("/eager")).size(), 50000U);
}

TEST(CompareMarkdown, FailuresAreNeverOmittedForOthers) {
  std::string text = in_markdown(huge("/eager"));
  EXPECT_GT(text.size(), 50000U);
  EXPECT_HAS(text, "rows that fail (");
  EXPECT_FALSE(has(text, "<details>"));
  // Once all failures are shown, there is space for the rest.
  std::vector<Measurement> first;
  std::vector<Measurement> second;
  for (int i = 0; i < 5000; ++i) {
    first.push_back(counted("key" + std::to_string(i), 1e6));
    second.push_back(counted("key" + std::to_string(i), i < 400 ? 2e6 : 1e6 + 1));
  }
  text = in_markdown(comparison_of(first, second));
  EXPECT_FALSE(has(text, "rows that fail ("));
  EXPECT_HAS(text, "<code>key399</code>");
  EXPECT_HAS(text, "Changes within the limits (4,600 benchmarks)");
}

TEST(CompareMarkdown, APartThatExactlyFitsIsIncluded) {
  std::vector<Measurement> first;
  std::vector<Measurement> second;
  for (int i = 0; i < 100; ++i) {
    first.push_back(counted("key" + std::to_string(i), 1e6));
    second.push_back(counted("key" + std::to_string(i), 1e6 + 1));
  }
  Comparison comparison = comparison_of(first, second);
  for (std::size_t max = 4000; max < 4100; ++max) {
    CompareReportOptions options;
    options.render.max_bytes = max;
    std::string text = in_markdown(comparison, options);
    EXPECT_HAS(text, "Changes within the limits (100 benchmarks)") << max;
    EXPECT_GT(text.size(), max - 800);
  }
}

TEST(CompareMarkdown, ATooLongRowDoesNotKeepOthersOut) {
  // Combining marks take no columns, so that no shortening by columns helps.
  std::string marks = "e";
  for (int i = 0; i < 50000; ++i) marks += "\xCC\x81";
  auto comparison = comparison_of({counted(marks, 1), counted("plain", 1)},
                                  {counted(marks, 9), counted("plain", 2)});
  std::string text = in_markdown(comparison);
  EXPECT_LE(text.size(), 60000U);
  EXPECT_HAS(text, "<code>plain</code>");
  EXPECT_HAS(text, "rows that fail (1)");
}

}  // namespace
}  // namespace instr::compare_table_test
