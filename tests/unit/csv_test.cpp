#include "core/base/csv.h"

#include <gtest/gtest.h>

namespace instr::csv_test {
namespace {

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

}  // namespace
}  // namespace instr::csv_test
