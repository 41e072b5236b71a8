#include "core/definitions/select.h"

#include <gtest/gtest.h>

#include <map>

#include "core/definitions/expand.h"

namespace instr {
namespace {

std::vector<Variant> all_variants() {
  Definition mm;
  mm.label = "matmul/mm";
  mm.stmt = Text{"x;", {}};
  mm.torchscript = Text{"y = x", {}};
  mm.autograd = true;
  mm.threads = {1, 2};
  mm.matrix = {{"n", {"4", "64"}}};
  Definition slow = mm;
  slow.label = "conv/large";
  slow.torchscript.reset();
  slow.autograd = false;
  slow.threads = {1};
  slow.matrix.clear();
  slow.tags = {"slow", "conv"};
  return *expand({mm, slow});
}

std::vector<std::string> selected(const Selection& selection) {
  const auto variants = select(all_variants(), selection);
  std::vector<std::string> keys;
  if (!variants) {
    keys.push_back(to_string(variants.error()));
    return keys;
  }
  for (const Variant& variant : *variants) keys.push_back(variant.key);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(Select, KeepsAllWhereNothingIsAsked) { EXPECT_EQ(selected({}).size(), 17u); }

TEST(Select, FindsFiltersAnywhereInTheKeyAndOneIsEnough) {
  EXPECT_EQ(selected({.filters = {"large"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"large", "n=64/eager/forward/t2"}}),
            (Keys{"matmul/mm/n=64/eager/forward/t2/cpu", "conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"^matmul.*n=4/.*/t1/"}}).size(), 4u);
}

TEST(Select, TakesOutWhatIsExcluded) {
  EXPECT_EQ(selected({.excludes = {"^matmul/"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"matmul"}, .excludes = {"backward", "t2", "script"}}),
            (Keys{"matmul/mm/n=4/eager/forward/t1/cpu", "matmul/mm/n=64/eager/forward/t1/cpu"}));
}

TEST(Select, KeepsWhatMeetsEveryList) {
  EXPECT_EQ(selected({.runtimes = {Runtime::kTorchScript}}).size(), 8u);
  EXPECT_EQ(selected({.autograds = {Autograd::kForwardBackward}}).size(), 8u);
  EXPECT_EQ(selected({.threads = {2}}).size(), 8u);
  EXPECT_EQ(selected({.threads = {1, 2}}).size(), 17u);
  EXPECT_EQ(selected({.devices = {"cpu"}}).size(), 17u);
  EXPECT_EQ(selected({.tags = {"conv", "other"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"n=4/"},
                      .runtimes = {Runtime::kEager},
                      .autograds = {Autograd::kForward},
                      .threads = {2}}),
            (Keys{"matmul/mm/n=4/eager/forward/t2/cpu"}));
}

TEST(Select, NamesNearLabelsWhereNothingMatches) {
  EXPECT_EQ(selected({.filters = {"matnul"}}),
            (Keys{"no benchmark matches the filter `matnul`: near it: `matmul/mm`"}));
  EXPECT_EQ(selected({.filters = {"^conv/lrage$", "zzz"}}),
            (Keys{"no benchmark matches the filter `^conv/lrage$`, `zzz`: near it: `conv/large`"}));
  EXPECT_EQ(selected({.filters = {"zzz"}}),
            (Keys{"no benchmark matches the filter `zzz`: there are 2 labels, such as `matmul/mm`; "
                  "list shows all keys"}));
}

TEST(Select, SaysWhatThereIsWhereNothingIsLeft) {
  EXPECT_EQ(selected({.filters = {"conv"}, .runtimes = {Runtime::kTorchScript}}),
            (Keys{"of the variants that match the filters (1), none is left: those that match the "
                  "filters have runtime `eager`"}));
  EXPECT_EQ(selected({.threads = {8}, .tags = {"fast"}}),
            (Keys{"of the variants that match the filters (17), none is left: those that match the "
                  "filters have threads `1`, `2`; tags `conv`, `slow`"}));
  EXPECT_EQ(selected({.excludes = {""}}),
            (Keys{"of the variants that match the filters (17), none is left: exclude less"}));
}

TEST(Select, RefusesWhatIsNoPattern) {
  EXPECT_EQ(selected({.filters = {"mm("}})[0].substr(0, 50),
            "--filter `mm(` is no regular expression: missing )");
  EXPECT_EQ(selected({.excludes = {"*"}})[0].substr(0, 40),
            "--exclude `*` is no regular expression: ");
}

TEST(Select, RefusesToSelectFromNothing) { EXPECT_FALSE(select({}, {})); }

TEST(Select, ShardsAreEveryVariantOnceAndStayWhereTheyAre) {
  auto all = selected({});
  std::map<std::string, int> seen;
  for (int index = 1; index <= 4; ++index) {
    for (const std::string& key : selected({.shard = Shard{index, 4}})) {
      ++seen[key];
      EXPECT_TRUE(is_in({index, 4}, key));
    }
  }
  EXPECT_EQ(seen.size(), all.size());
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  // A key's part depends on nothing else: this is the 64-bit XXH3 of its text.
  EXPECT_TRUE(is_in({1 + static_cast<int>(0x2D06800538D394C2 % 7), 7}, ""));
}

}  // namespace
}  // namespace instr
