#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/compare/compare.h"
#include "core/report/comparison_report.h"
#include "tests/golden.h"

namespace instr::line_changes_test {
namespace {

LineCost line(const std::string& file, int number, std::int64_t self, const std::string& text) {
  return {file, number, self, std::nullopt, text};
}

// Returns "file:before>after cost>cost" for each line, in order.
std::vector<std::string> shown(const LineChanges& changes) {
  std::vector<std::string> out;
  for (const LineChange& change : changes.lines) {
    out.push_back(fmt::format("{}:{}>{} {}>{}", change.file, change.before.line, change.after.line,
                              change.before.self, change.after.self));
  }
  return out;
}

// A line above was removed, and a line below was edited.
const LineCosts kBefore{10,
                        {line("a.cpp", 2, 30, "{"), line("a.cpp", 3, 100, "reserve(n);"),
                         line("a.cpp", 4, 400, "push_back(n);"), line("a.cpp", 5, 50, "x = 1;"),
                         line("a.cpp", 6, 30, "}"), line("b.cpp", 1, 10, "y")}};
const LineCosts kAfter{
    10,
    {line("a.cpp", 2, 30, "{"), line("a.cpp", 3, 900, "push_back(n);"),
     line("a.cpp", 4, 70, "x = 2;"), line("a.cpp", 5, 30, "}"), line("b.cpp", 1, 20, "y")}};

TEST(LineChanges, FollowLinesThatMoved) {
  const LineChanges changes = compare_lines(kBefore, kAfter, 50);
  EXPECT_EQ(shown(changes),
            (std::vector<std::string>{"a.cpp:3>0 10>0", "a.cpp:4>3 40>90", "a.cpp:5>0 5>0",
                                      "a.cpp:0>4 0>7", "b.cpp:1>1 1>2"}));
  EXPECT_EQ(changes.elsewhere, 50 - (-10 + 50 - 5 + 7 + 1));
}

TEST(LineChanges, EqualCostsHaveNoChanges) {
  const LineChanges changes = compare_lines(kBefore, kBefore, 0);
  EXPECT_TRUE(changes.lines.empty());
  EXPECT_EQ(changes.elsewhere, 0);
  // Equal costs per iteration, in blocks of different lengths.
  LineCosts twice = kBefore;
  twice.iterations *= 2;
  for (LineCost& line : twice.lines) line.self *= 2;
  EXPECT_TRUE(compare_lines(kBefore, twice, 0).lines.empty());
}

TEST(LineChanges, MatchFilesByNameIfUnambiguous) {
  const auto in = [](const std::string& file, std::int64_t self) {
    return LineCosts{1, {line(file, 1, self, "f();")}};
  };
  EXPECT_EQ(shown(compare_lines(in("old/f.cpp", 5), in("new/f.cpp", 7), 2)),
            (std::vector<std::string>{"new/f.cpp:1>1 5>7"}));
  LineCosts two = in("x/f.cpp", 7);
  two.lines.push_back(line("y/f.cpp", 1, 9, "f();"));
  EXPECT_EQ(shown(compare_lines(in("old/f.cpp", 5), two, 11)),
            (std::vector<std::string>{"y/f.cpp:0>1 0>9", "x/f.cpp:0>1 0>7", "old/f.cpp:1>0 5>0"}));
}

TEST(LineChanges, WithoutTextMatchByNumber) {
  const LineCosts before{1, {line("f", 3, 5, ""), line("f", 9, 5, "")}};
  const LineCosts after{1, {line("f", 3, 6, ""), line("f", 8, 5, "")}};
  EXPECT_EQ(shown(compare_lines(before, after, 1)),
            (std::vector<std::string>{"f:3>3 5>6", "f:9>0 5>0", "f:0>8 0>5"}));
}

TEST(LineChanges, AreShownAsADiffWithCosts) {
  const LineChanges changes = compare_lines(kBefore, kAfter, 50);
  EXPECT_GOLDEN("lines/diff_with_costs.txt", lines_text(changes, 0));
  for (const std::size_t width : {60U, 80U}) {
    std::istringstream lines(lines_text(changes, width));
    for (std::string name; std::getline(lines, name);) EXPECT_LE(name.size(), 72U) << name;
  }
}

TEST(LineChanges, ShowTheLinesThatChangedMost) {
  LineCosts before{1, {}}, after{1, {}};
  for (int i = 1; i <= 40; ++i) {
    before.lines.push_back(line("f", i, 0, std::to_string(i)));
    after.lines.push_back(line("f", i, i, std::to_string(i)));
  }
  EXPECT_GOLDEN("lines/most_changed_of_many.txt", lines_text(compare_lines(before, after, 820), 0));
}

}  // namespace
}  // namespace instr::line_changes_test
