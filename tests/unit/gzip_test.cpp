#include "core/base/gzip.h"

#include "tests/testing.h"

namespace instr::gzip_test {
namespace {

using namespace testing;

std::string member(const std::string& text) { return value_of(gzip_member(text)); }

// Returns the text of the only member; nothing if it cannot be read.
std::optional<std::string> text_of(const std::string& bytes) {
  auto taken = gunzip_member(bytes, 0);
  if (!taken || !taken->is_whole) return std::nullopt;
  EXPECT_EQ(taken->end, bytes.size());
  return taken->text;
}

TEST(Gzip, RoundTrip) {
  std::string long_text;
  for (int i = 0; i < 50000; ++i) long_text += "line " + std::to_string(i) + "\n";
  // The last texts end exactly at the end of a decompressed piece.
  for (const std::string& text : {std::string(), std::string("a"), std::string(3, '\0'), long_text,
                                  std::string(65536, 'x'), std::string(131072, 'x')}) {
    EXPECT_EQ(text_of(member(text)), text);
  }
  EXPECT_LT(member(long_text).size(), long_text.size() / 2);
}

TEST(Gzip, MembersFollowEachOther) {
  std::string bytes = member("one\n") + member("") + member("two\n");
  auto first = value_of(gunzip_member(bytes, 0));
  EXPECT_EQ(first.text, "one\n");
  auto second = gunzip_member(bytes, first.end);
  EXPECT_EQ(second->text, "");
  EXPECT_TRUE(second->is_whole);
  auto third = gunzip_member(bytes, second->end);
  EXPECT_EQ(third->text, "two\n");
  EXPECT_EQ(third->end, bytes.size());
}

TEST(Gzip, ATruncatedMemberHasTheTextBefore) {
  std::string random;
  for (unsigned i = 0, x = 1; i < 100000; ++i)
    random += static_cast<char>((x = x * 69069 + 5) >> 24);
  std::string bytes = member(random);
  for (std::size_t size :
       {std::size_t{0}, std::size_t{5}, bytes.size() / 2, bytes.size() - 9, bytes.size() - 1}) {
    auto cut = value_of(gunzip_member(std::string_view(bytes).substr(0, size), 0));
    EXPECT_FALSE(cut.is_whole);
    EXPECT_EQ(cut.end, size);
    EXPECT_TRUE(random.starts_with(cut.text));
    EXPECT_GE(cut.text.size() + 40000, size) << "what can be unpacked is there";
  }
}

TEST(Gzip, RefusesGarbage) {
  EXPECT_FALSE(gunzip_member("this is not gzip", 0));
  std::string damaged = member("some text that is long enough");
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  EXPECT_FALSE(gunzip_member(damaged, 0));
}

TEST(Gzip, RefusesMoreThanTheLimit) {
  std::string bomb = member(std::string(1 << 20, 'x'));
  EXPECT_FALSE(gunzip_member(bomb, 0, 1000));
  EXPECT_TRUE(gunzip_member(bomb, 0, 1 << 20));
}

}  // namespace
}  // namespace instr::gzip_test
