#include "core/base/table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace instr::table_test
