#include "core/base/table.h"

#include <set>

#include "core/base/csv.h"
#include "core/base/format.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::table_test {
namespace {

using namespace testing;

Table fruit() {
  Table table{.columns = {{.heading = "fruit", .align = Align::kLeft},
                          {.heading = "price\neach"},
                          {.heading = "why", .align = Align::kLeft}},
              .min_name = 4};
  table.lines = {{.cells = {{"an apple"}, {"1"}, {"red", Tone::kBad}}},
                 {.cells = {{"a leaf"}, {"12,345"}, {}}, .indent = 2},
                 {.text = "between\n"},
                 {.cells = {{"日本"}, {}, {"wide"}}}};
  return table;
}

TEST(Table, AlignsItsColumnsAndLeavesNoSpacesAtTheEnd) {
  EXPECT_GOLDEN("table/aligned.txt", *table_text(fruit(), 0, false));
}

TEST(Table, FitsTheTerminal) {
  EXPECT_EQ(make_layout(fruit()).total(), 22u);
  EXPECT_EQ(make_layout(fruit()).beside_first(), 14u);
  EXPECT_EQ(table_text(fruit(), 22, false), table_text(fruit(), 0, false));
  EXPECT_GOLDEN("table/names_cut.txt", *table_text(fruit(), 19, false));
  EXPECT_TRUE(table_text(fruit(), 18, false));
  EXPECT_EQ(table_text(fruit(), 17, false), std::nullopt);
}

TEST(Table, HasHeadingsAsRequested) {
  Table table{.columns = {{.heading = "a", .min = 3}, {.heading = "b"}},
              .lines = {{.cells = {{"1"}, {"2"}}}}};
  table.headings = Headings::kNone;
  EXPECT_EQ(*table_text(table, 0, true), "  1  2\n");
  table.headings = Headings::kPlain;
  EXPECT_EQ(*table_text(table, 0, true), "  a  b\n  1  2\n");
  table.headings = Headings::kStyled;
  EXPECT_EQ(*table_text(table, 0, true), "\x1b[1m  a  b\x1b[0m\n  1  2\n");
  table.headings = Headings::kRuled;
  EXPECT_EQ(*table_text(table, 0, false), "  a  b\n──────\n  1  2\n");
}

TEST(Table, NeighboursShareATitle) {
  Table table{.columns = {{.align = Align::kLeft},
                          {.heading = "x", .span = "instructions"},
                          {.heading = "y", .span = "instructions"},
                          {.heading = "z"}},
              .lines = {{.cells = {{"name"}, {"1"}, {"2"}, {"3"}}}}};
  EXPECT_GOLDEN("table/shared_title.txt", *table_text(table, 0, false));
  table.columns[1].min = 18;
  EXPECT_TRUE(table_text(table, 0, false)->starts_with("      ─── instructions ────\n"))
      << *table_text(table, 0, false);
}

TEST(Table, ColoursTextWithoutPadding) {
  Table table{.columns = {{.align = Align::kLeft, .min = 5}, {.min = 3}},
              .lines = {{.cells = {{"a", Tone::kGood}, {"b", Tone::kWarning}}}},
              .headings = Headings::kNone};
  EXPECT_EQ(*table_text(table, 0, true), "\x1b[32ma\x1b[0m        \x1b[33mb\x1b[0m\n");
}

// --- Cells of CSV ---

TEST(Csv, FormulasAreMarkedAsText) {
  EXPECT_EQ(csv_line({"=1+1", "+a", "@SUM(A1)", "-x", "=HYPERLINK(\"u\",\"t\")", "--1", "-inf"}),
            "'=1+1,'+a,'@SUM(A1),'-x,\"'=HYPERLINK(\"\"u\"\",\"\"t\"\")\",'--1,'-inf\r\n");
  EXPECT_EQ(csv_line({"a=b", "", "'x", "1+1"}), "a=b,,'x,1+1\r\n");
  // csv_line() has replaced tabs and similar characters.
  EXPECT_TRUE(csv_line({"\t=1"}).starts_with("\" "));
}

TEST(Csv, NumbersStayNumbers) {
  EXPECT_EQ(csv_line({"-12", "-1.5", "-2e-07", "7", "-0"}), "-12,-1.5,-2e-07,7,-0\r\n");
}

TEST(Csv, CellsSurviveWritingAndReading) {
  for (const char* text :
       {"=1", "'=1", "''=1", "-5", "'-5", "plain", "'plain", "+", "@", "'", ""}) {
    EXPECT_EQ(from_cell(as_cell(text)), text);
  }
}

// --- Names in narrow columns ---

using Names = std::vector<std::string>;

TEST(ShortenApart, DifferentNamesLoseTheirMiddle) {
  EXPECT_EQ(shorten_apart({"matmul", "matmul/mm n=64"}, 9), (Names{"matmul", "matm…n=64"}));
  EXPECT_EQ(shorten_apart({"matmul/mm n=64", "matmul/mm n=64"}, 9),
            (Names{"matm…n=64", "matm…n=64"}));
}

TEST(ShortenApart, EqualNamesLoseTheirCommonParts) {
  const Names keys{"layers/attention/heads=2/n=64/eager/forward/t1/cpu",
                   "layers/attention/heads=4/n=64/eager/forward/t1/cpu",
                   "layers/attention/heads=16/n=64/eager/forward/t1/cpu"};
  EXPECT_EQ(shorten_apart(keys, 24), (Names{"layers/a…heads=2…/t1/cpu", "layers/a…heads=4…/t1/cpu",
                                            "layers/…heads=16…/t1/cpu"}));
  // Only the differences fit.
  EXPECT_EQ(shorten_apart(keys, 10), (Names{"l…heads=2…", "l…heads=4…", "…heads=16…"}));
}

TEST(ShortenApart, NeverExceedsTheWidth) {
  const Names names{"α/βγδ/same/one/εζ", "α/βγδ/same/two/εζ", "α/βγδ/same/three/εζ", "x", ""};
  for (std::size_t width = 0; width < 20; ++width) {
    const Names cut = shorten_apart(names, width);
    for (const std::string& name : cut) EXPECT_LE(display_width(name), width) << name;
    if (width < 8) continue;
    EXPECT_EQ(std::set<std::string>(cut.begin(), cut.end()).size(), names.size()) << width;
  }
}

}  // namespace
}  // namespace instr::table_test
