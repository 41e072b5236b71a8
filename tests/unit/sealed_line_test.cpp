#include <gtest/gtest.h>

#include "core/results/results_file.h"

namespace instr {
namespace {

TEST(SealedLine, DetectsEachChangedCharacter) {
  const std::string line = sealed(R"({"key":"a","metrics":{"allocs":3,"instructions":100}})");
  // The CRC-32 from Python's zlib.crc32().
  EXPECT_TRUE(line.ends_with(R"(,"check":"6650b6e2"})")) << line;
  EXPECT_TRUE(is_as_sealed(line));
  for (std::size_t i = 0; i + 22 < line.size(); ++i) {
    std::string changed = line;
    changed[i] ^= 1;
    EXPECT_FALSE(is_as_sealed(changed)) << changed;
  }
}

TEST(SealedLine, AcceptsALineWithoutAChecksum) {
  EXPECT_TRUE(is_as_sealed(R"({"key":"a"})"));
  EXPECT_TRUE(is_as_sealed(""));
  EXPECT_FALSE(is_sealed(R"({"key":"a"})"));
  EXPECT_TRUE(is_sealed(sealed(R"({"key":"a"})")));
}

}  // namespace
}  // namespace instr
