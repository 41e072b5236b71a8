#include "core/base/near_match.h"

#include <gtest/gtest.h>

namespace instr::near_match_test {
namespace {

TEST(EditDistance, CountsEditsAndSwapsAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("label", "label"), 0u);
  EXPECT_EQ(edit_distance("label", "labels"), 1u);
  EXPECT_EQ(edit_distance("label", "lebel"), 1u);
  EXPECT_EQ(edit_distance("label", "lable"), 1u);  // a swap
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // 2 would edit a stretch twice
}

const std::vector<std::string> kKeys{"label", "stmt", "stmts", "setup", "use", "global_setup"};

TEST(Nearest, FindsTheNearestWord) {
  EXPECT_EQ(nearest("lable", kKeys), "label");
  EXPECT_EQ(nearest("LABEL", kKeys), "label");
  EXPECT_EQ(nearest("stmtss", kKeys), "stmts");
  EXPECT_EQ(nearest("global", kKeys), "global_setup");
  EXPECT_EQ(nearest("globalsetup", kKeys), "global_setup");
}

TEST(Nearest, FindsNothingIfNothingIsNear) {
  EXPECT_EQ(nearest("zebra", kKeys), std::nullopt);
  EXPECT_EQ(nearest("", kKeys), std::nullopt);
  EXPECT_EQ(nearest("x", kKeys), std::nullopt);
  EXPECT_EQ(nearest("label", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'l'), {std::string(100'000, 'l')}), std::nullopt);
}

TEST(NearMatches, SortsByDistanceAndLooksAtParts) {
  const std::vector<std::string> labels{"conv/large", "matmul/mm", "matmul/bmm", "matmull"};
  EXPECT_EQ(near_matches("matmul", labels, 5),
            (std::vector<std::string>{"matmul/mm", "matmul/bmm", "matmull"}));
  EXPECT_EQ(near_matches("matnul/mm", labels, 2),
            (std::vector<std::string>{"matmul/mm", "matmul/bmm"}));
  EXPECT_EQ(near_matches("matmul", labels, 1).size(), 1u);
  EXPECT_TRUE(near_matches("softmax", labels, 5).empty());
}

TEST(DidYouMean, SuggestsTheNearestOrListsAll) {
  EXPECT_EQ(did_you_mean("cpy", {"cpu", "cuda"}), "did you mean `cpu`?");
  EXPECT_EQ(did_you_mean("tpu0", {"cpu", "cuda"}), "known: `cpu`, `cuda`");
}

TEST(DidYouMean, CutsALongList) {
  std::vector<std::string> known;
  for (int i = 0; i < 500; ++i) known.push_back("matmul/mm/n=" + std::to_string(i) + "/eager");
  std::string advice = did_you_mean("nosuch", known);
  EXPECT_LT(advice.size(), 1500U);
  EXPECT_TRUE(advice.ends_with("`matmul/mm/n=39/eager` and 460 more")) << advice;
}

}  // namespace
}  // namespace instr::near_match_test
