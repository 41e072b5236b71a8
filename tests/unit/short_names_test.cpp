#include <gtest/gtest.h>

#include <set>

#include "core/base/format.h"
#include "core/base/table.h"
#include "tests/testing.h"

namespace instr::short_names_test {
namespace {

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
}  // namespace instr::short_names_test
