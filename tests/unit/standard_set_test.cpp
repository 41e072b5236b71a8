// Invariants of the standard set, the definitions in definitions/.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "tests/testing.h"

namespace instr::standard_set_test {
namespace {

using namespace testing;

std::vector<Variant> shipped_variants() {
  const fs::path folder = fs::path(INSTR_SOURCE_DIR) / "definitions";
  return value_of(expand(value_of(load_definitions({folder}))));
}

bool has_tag(const Variant& variant, const std::string& tag) {
  return std::find(variant.tags.begin(), variant.tags.end(), tag) != variant.tags.end();
}

std::ptrdiff_t count_standard(const std::vector<Variant>& variants, Language language) {
  return std::count_if(variants.begin(), variants.end(), [language](const Variant& one) {
    return one.language == language && has_tag(one, "standard");
  });
}

TEST(StandardSet, TagSelects95OfCppAnd86OfPython) {
  const std::vector<Variant> all = shipped_variants();
  EXPECT_EQ(count_standard(all, Language::kCpp), 95);
  EXPECT_EQ(count_standard(all, Language::kPython), 86);
}

TEST(StandardSet, HasAtLeast300VariantsWithUniqueKeysAndDescriptions) {
  const std::vector<Variant> all = shipped_variants();
  EXPECT_GE(all.size(), 300u);
  std::set<std::string> keys;
  for (const Variant& variant : all) {
    EXPECT_TRUE(keys.insert(variant.key).second) << variant.key;
    EXPECT_FALSE(variant.description.empty()) << variant.key;
  }
}

// Random numbers refill the generator 624 numbers at a time: each block must refill it equally
// often, or blocks can never be equal.
TEST(StandardSet, RandomNumbersComeInWholeBlocks) {
  int seen = 0;
  for (const Variant& variant : shipped_variants()) {
    const std::string text = variant.stmt ? variant.stmt->code : variant.module->code;
    const bool draws = text.find("uniform_") != text.npos || text.starts_with("torch::rand");
    if (!draws) continue;
    ++seen;
    EXPECT_EQ(variant.iterations.value_or(0) % 39, 0) << variant.key;
    EXPECT_GT(variant.iterations.value_or(0), 0) << variant.key;
  }
  EXPECT_EQ(seen, 8);
}

}  // namespace
}  // namespace instr::standard_set_test
