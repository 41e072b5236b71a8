#include <gtest/gtest.h>

#include "core/compile/cpp/self_contained.h"
#include "tests/testing.h"

namespace instr::global_setup_test {
namespace {

TEST(GlobalSetup, KeepsEachLineAtItsPlace) {
  Variant variant;
  EXPECT_FALSE(join_global_setups(variant));
  variant.global_setups = {{"a\nb", {"x", 3, 9}}, {"c\n", {"x", 7, 1}},  {"d", {"x", 8, 1}},
                           {"e", {"x", 9, 1}},    {"back", {"x", 2, 1}}, {"other", {"y", 5, 1}}};
  const auto joined = join_global_setups(variant);
  // Lines:                       3  4       7  8  9
  EXPECT_EQ(joined->code,
            "a\nb\n\n\nc\nd\ne\n#line 2 \"@shared:x\"\nback\n#line 5 \"@shared:y\"\nother");
  EXPECT_EQ(joined->where, (SourceLocation{"x", 3, 9}));
}

TEST(GlobalSetup, QuotesFileNamesInLineDirectives) {
  Variant variant;
  variant.global_setups = {{"int a;", {"common.inc", 2, 1}}, {"int b;", {"/a\"b\\c.toml", 3, 1}}};
  EXPECT_HAS(join_global_setups(variant)->code, "/a\\\"b\\\\c.toml\"\n");
}

}  // namespace
}  // namespace instr::global_setup_test
