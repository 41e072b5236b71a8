#include "core/base/trim.h"

#include <gtest/gtest.h>

namespace instr::trim_test {
namespace {

TEST(Trim, RemovesBlanksOnlyFromTheEnds) {
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim("\t a  b "), "a  b");
  EXPECT_EQ(trim("a\n"), "a\n");
  EXPECT_EQ(trim("\r\n a \r\n", " \r\n"), "a");
  EXPECT_EQ(trim_end(" a \n", "\n"), " a ");
  EXPECT_EQ(trim_end("\n\n", "\n"), "");
  EXPECT_EQ(trim_end(""), "");
}

TEST(Trim, KnowsABlankText) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r\n"));
  EXPECT_FALSE(is_blank(" . "));
}

}  // namespace
}  // namespace instr::trim_test
