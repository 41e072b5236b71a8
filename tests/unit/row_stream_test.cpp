#include "core/base/format.h"
#include "core/report/run_report.h"
#include "core/report/run_table.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::row_stream_test {
namespace {

using namespace testing;

std::string key(const std::string& start, const std::string& backend = "eager") {
  return start + "/" + backend + "/forward/t1/cpu";
}

// Two groups that are mixed in the definitions, and a row that is no group.
std::vector<Measurement> example() {
  return {
      counted(key("matmul/mm/n=4"), 5673),   counted(key("matmul/mm/n=4", "torchscript"), 12101),
      counted(key("nn/relu"), 812),          skipped(key("nn/relu", "torchscript")),
      counted(key("matmul/mm/n=64"), 73302), failed(key("matmul/mm/n=64", "torchscript")),
      counted(key("alone"), 4014145),        counted(key("nn/gelu"), 900)};
}

ReportOptions at_width(std::size_t width) {
  const ReportOptions options{.render = {.width = width}};
  return options;
}

std::string shown_of(const std::vector<Measurement>& in_order, const ReportOptions& options,
                     const std::vector<Measurement>& planned = example()) {
  RowStream rows(variants_of(planned), options);
  std::string text;
  for (const Measurement& measurement : in_order) text += rows.take(measurement);
  return text;
}

TEST(RowStream, ShowsTheSameInWhateverOrderRowsAreCounted) {
  std::vector<Measurement> all = example();
  const std::string text = shown_of(all, at_width(0));
  EXPECT_GOLDEN("report/streamed_rows.txt", text);
  // Skipped ones are known before anything is counted.
  const auto rest = std::ranges::stable_partition(
      all, [](const Measurement& each) { return std::holds_alternative<Skipped>(each.outcome); });
  const auto by_key = [](const Measurement& left, const Measurement& right) {
    return left.variant.key < right.variant.key;
  };
  std::ranges::sort(rest, by_key);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(shown_of(all, at_width(0)), text);
    std::next_permutation(rest.begin(), rest.end(), by_key);
  }
  EXPECT_EQ(shown_of({all.rbegin(), all.rend()}, at_width(0)), text);
}

TEST(RowStream, ShowsARowOnceItAndAllAboveAreComplete) {
  const auto all = example();
  RowStream rows(variants_of(all), at_width(0));
  EXPECT_EQ(rows.take(all[4]), "");
  EXPECT_EQ(rows.take(all[5]), "");
  EXPECT_EQ(rows.take(all[0]), "");
  const std::string first = rows.take(all[1]);
  EXPECT_HAS(first, "instructions");
  EXPECT_HAS(first, "matmul\n");
  EXPECT_HAS(first, "mm n=4 ");
  EXPECT_HAS(first, "mm n=64 ");
  EXPECT_HAS(first, "failed");
  EXPECT_EQ(rows.shown().size(), 4U);
  EXPECT_EQ(rows.take(all[7]), "") << "nn/relu is missing";
}

TEST(RowStream, LeavesTheRestToTheReport) {
  const auto all = example();
  RowStream rows(variants_of(all), at_width(0));
  rows.take(all[0]);
  rows.take(all[1]);
  ReportOptions options = at_width(0);
  options.shown = rows.shown();
  const std::string rest = report(ReportFormat::kTable, {all[0], all[1], all[4]}, options);
  EXPECT_HAS(rest, "73,302");
  EXPECT_EQ(rest.find("5,673"), std::string::npos) << rest;
  EXPECT_HAS(rest, "3 counted");
}

TEST(RowStream, HasTheLinesOfTheTable) {
  const auto without_spaces = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' '; });
    std::string lines;
    for (const std::string& line : split_lines(text)) {
      if (!line.starts_with("\xE2\x94\x80")) lines += line + "\n";
    }
    return lines;
  };
  const auto all = example();
  const std::string whole = report(ReportFormat::kTable, all, at_width(0));
  const std::string text = shown_of(all, at_width(0));
  EXPECT_EQ(without_spaces(text), without_spaces(whole).substr(0, without_spaces(text).size()));
}

TEST(RowStream, ColumnsGrowWithLargerCounts) {
  const std::vector<Measurement> large{counted(key("a"), 1), counted(key("b"), 123456789012345),
                                       counted(key("c"), 1)};
  EXPECT_GOLDEN("report/streamed_large_counts.txt", shown_of(large, at_width(0), large));
}

TEST(RowStream, NeverExceedsTheTerminal) {
  std::vector<Measurement> all = example();
  all.push_back(counted(key("z"), 123456789012345));
  for (std::size_t width = 1; width < 120; ++width) {
    std::string text = shown_of(all, at_width(width), all);
    for (const std::string& line : split_lines(text)) {
      EXPECT_LE(display_width(line), width) << text;
    }
  }
  // The row that becomes too wide is in the report.
  const std::size_t width = 64;
  RowStream rows(variants_of(all), at_width(width));
  for (const Measurement& each : all) rows.take(each);
  EXPECT_EQ(rows.shown().size(), all.size() - 1);
  ReportOptions options = at_width(width);
  options.shown = rows.shown();
  EXPECT_HAS(report(ReportFormat::kTable, all, options), "123,456,789,012,345");
}

}  // namespace
}  // namespace instr::row_stream_test
