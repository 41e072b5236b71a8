#include "core/gzip.h"

#include <gtest/gtest.h>

namespace instr {
namespace {

std::string member(const std::string& text) {
  auto made = gzip_member(text);
  EXPECT_TRUE(made);
  return made.value_or("");
}

TEST(Gzip, ThereAndBack) {
  std::string long_text;
  for (int i = 0; i < 50000; ++i) long_text += "line " + std::to_string(i) + "\n";
  for (const std::string& text : {std::string(), std::string("a"), std::string(3, '\0'), long_text}) {
    EXPECT_EQ(gunzip(member(text)), text);
  }
  EXPECT_LT(member(long_text).size(), long_text.size() / 2);
}

TEST(Gzip, MembersFollowEachOther) {
  EXPECT_EQ(gunzip(member("one\n") + member("") + member("two\n")), "one\ntwo\n");
  EXPECT_EQ(gunzip(""), "");
}

// Wherever a kill cuts the file, the members before the cut are there.
TEST(Gzip, ACutLosesTheLastMemberOnly) {
  std::string first = member("first");
  std::string both = first + member("second");
  for (std::size_t size = first.size(); size < both.size(); ++size) {
    auto text = gunzip(both.substr(0, size));
    ASSERT_TRUE(text) << size;
    EXPECT_TRUE(text->starts_with("first")) << size;
  }
}

TEST(Gzip, RefusesGarbage) {
  EXPECT_FALSE(gunzip("this is not gzip"));
  std::string damaged = member("some text that is long enough");
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  EXPECT_FALSE(gunzip(damaged));
}

TEST(Gzip, RefusesMoreThanTheLimit) {
  std::string bomb = member(std::string(1 << 20, 'x'));
  EXPECT_FALSE(gunzip(bomb, 1000));
  EXPECT_TRUE(gunzip(bomb, 1 << 20));
}

}  // namespace
}  // namespace instr
