#include <fmt/format.h>

#include "core/compare/compare.h"
#include "core/profile/profile.h"
#include "core/report/comparison_report.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::line_costs_test {
namespace {

using namespace testing;

LineCosts costs_of(const std::string& name, ProfilePaths paths = ProfilePaths::kMerged) {
  auto profile = read_profile(fixture("profile/" + name), paths, ProfileLines::kRead);
  if (!profile) throw std::runtime_error(to_string(profile.error()));
  return line_costs(*profile, 1);
}

const LineCost& line_in(const LineCosts& costs, const std::string& file, int line) {
  for (const LineCost& cost : costs.lines) {
    if (cost.file == file && cost.line == line) return cost;
  }
  throw std::runtime_error("no line " + std::to_string(line) + " of " + file);
}

// The costs of each line of the two sources, as callgrind_annotate shows them.
std::map<std::pair<std::string, int>, std::int64_t> annotated() {
  std::ifstream stream(fixture("profile/lines.annotated.txt"));
  std::map<std::pair<std::string, int>, std::int64_t> costs;
  std::string file;
  int line = 0;
  for (std::string text; std::getline(stream, text);) {
    const std::string mark = "-- User-annotated source: ";
    if (text.starts_with(mark)) {
      file = text.substr(mark.size());
      line = -3;  // the rule, the heading, and a blank line follow
    } else if (text.starts_with("The following files")) {
      file.clear();
    } else if (!file.empty() && text.find("  => ") == std::string::npos && ++line > 0) {
      std::istringstream words(text);
      std::int64_t cost = 0;
      if (words >> cost) costs[{file, line}] = cost;
    }
  }
  return costs;
}

TEST(LineCosts, AreThoseOfCallgrindAnnotate) {
  std::map<std::pair<std::string, int>, std::int64_t> own;
  std::int64_t sum = 0;
  for (const LineCost& line : costs_of("lines.callgrind.out").lines) {
    if (line.self != 0) own[{line.file, line.line}] = line.self;
    sum += line.self;
  }
  EXPECT_EQ(own, annotated());
  EXPECT_EQ(own.size(), 14U);
  EXPECT_EQ(sum, 212);
}

TEST(LineCosts, AreInclusiveIfThatIsKnown) {
  const LineCosts costs = costs_of("lines.callgrind.out");
  // Inlined into two functions, and calls nothing.
  EXPECT_EQ(line_in(costs, "lines.h", 3).self, 8 * 7);
  EXPECT_EQ(line_in(costs, "lines.h", 3).inclusive, 8 * 7);
  EXPECT_EQ(line_in(costs, "lines.cpp", 12).self, 5 * 10);
  // depth(4) costs 90: the inclusive cost of its outermost call on this line.
  EXPECT_EQ(line_in(costs, "lines.cpp", 13).self, 22);
  EXPECT_EQ(line_in(costs, "lines.cpp", 13).inclusive, 5 + 71);
  EXPECT_EQ(line_in(costs, "lines.cpp", 19).inclusive, 3 + 90);
  EXPECT_EQ(line_in(costs, "lines.cpp", 17).inclusive, 3 + 62);
}

TEST(LineCosts, OfALineWithCallsOfSeveralFunctionsAreNotInclusive) {
  const std::string text =
      "events: Ir\nfl=(1) a.h\nfn=(1) wrap<int>()\n3 5\ncfl=(2) b.h\ncfn=(2) wrap<long>()\n"
      "calls=1 3\n* 40\nfl=(1)\nfn=(2)\n3 8\ncfl=(3) c.h\ncfn=(3) leaf()\ncalls=1 9\n+0 32\n"
      "fl=(3)\nfn=(3)\n9 32\ntotals: 45\n";
  auto profile = value_of(parse_profile(text, "x", ProfilePaths::kMerged, ProfileLines::kRead));
  const LineCosts costs = line_costs(profile, 1);
  EXPECT_EQ(line_in(costs, "a.h", 3).self, 13);
  EXPECT_FALSE(line_in(costs, "a.h", 3).inclusive);
  EXPECT_EQ(line_in(costs, "c.h", 9).inclusive, 32);
}

TEST(LineCosts, AreEqualInEachFormOfProfile) {
  const auto by_place = [](const LineCosts& costs) {
    std::map<std::pair<std::string, int>, std::int64_t> sums;
    for (const LineCost& line : costs.lines) sums[{line.file, line.line}] += line.self;
    return sums;
  };
  const auto plain = by_place(costs_of("part.callgrind.out"));
  EXPECT_GT(plain.size(), 10U);
  EXPECT_EQ(by_place(costs_of("verbose.callgrind.out")), plain);
  EXPECT_EQ(by_place(costs_of("instr.callgrind.out")), plain);
}

TEST(LineCosts, LeaveOutFilesWithoutAName) {
  auto profile = value_of(read_profile(fixture("profile/lines.callgrind.out"),
                                       ProfilePaths::kMerged, ProfileLines::kRead));
  for (std::string& file : profile.files) file = file == "lines.h" ? "x" : "";
  const LineCosts costs = line_costs(profile, 4);
  ASSERT_EQ(costs.lines.size(), 1U);
  EXPECT_EQ(costs.lines[0].file, "x");
  EXPECT_EQ(costs.per_iteration(costs.lines[0].self), 14);
}

TEST(LineCosts, AreReadOnlyOnRequest) {
  auto profile = value_of(read_profile(fixture("profile/lines.callgrind.out")));
  EXPECT_TRUE(profile.lines.empty());
  EXPECT_TRUE(profile.files.empty());
}

// --- Changes of lines ---

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
}  // namespace instr::line_costs_test
