#include "core/definitions/select.h"

#include <gtest/gtest.h>

#include <map>

#include "core/definitions/expand.h"
#include "tests/testing.h"

namespace instr::select_test {
namespace {

std::vector<Variant> all_variants() {
  GroupedBenchmark mm;
  mm.label = "matmul/mm";
  mm.statements = {{.text = Text{"x;", {}}}};
  mm.torchscript = Text{"y = x", {}};
  mm.autograd = true;
  mm.threads = {1, 2};
  mm.matrix = {{"n", {"4", "64"}}};
  GroupedBenchmark slow = mm;
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
  if (!variants) return {to_string(variants.error())};
  return testing::keys_of(*variants);
}

using Keys = std::vector<std::string>;

TEST(Select, AtLeastOneFilterMatchesAnywhereInTheKey) {
  EXPECT_EQ(selected({.filters = {"large"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"large", "n=64/eager/forward/t2"}}),
            (Keys{"matmul/mm/n=64/eager/forward/t2/cpu", "conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"^matmul.*n=4/.*/t1/"}}).size(), 4u);
}

TEST(Select, RemovesExcludedVariants) {
  EXPECT_EQ(selected({.excludes = {"^matmul/"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"matmul"}, .excludes = {"backward", "t2", "script"}}),
            (Keys{"matmul/mm/n=4/eager/forward/t1/cpu", "matmul/mm/n=64/eager/forward/t1/cpu"}));
}

TEST(Select, KeepsVariantsThatMeetEveryList) {
  EXPECT_EQ(selected({.backends = {Backend::kTorchScript}}).size(), 8u);
  EXPECT_EQ(selected({.autograds = {Autograd::kForwardBackward}}).size(), 8u);
  EXPECT_EQ(selected({.threads = {2}}).size(), 8u);
  EXPECT_EQ(selected({.threads = {1, 2}}).size(), 17u);
  EXPECT_EQ(selected({.devices = {"cpu"}}).size(), 17u);
  EXPECT_EQ(selected({.tags = {"conv", "other"}}), (Keys{"conv/large/eager/forward/t1/cpu"}));
  EXPECT_EQ(selected({.filters = {"n=4/"},
                      .backends = {Backend::kEager},
                      .autograds = {Autograd::kForward},
                      .threads = {2}}),
            (Keys{"matmul/mm/n=4/eager/forward/t2/cpu"}));
}

constexpr const char* kLarge = "conv/large/eager/forward/t1/cpu";

TEST(Select, FindsNamesAsShownInTables) {
  const Keys small{
      "matmul/mm/n=4/eager/forward/t1/cpu",
      "matmul/mm/n=4/eager/forward/t2/cpu",
      "matmul/mm/n=4/eager/forward_backward/t1/cpu",
      "matmul/mm/n=4/eager/forward_backward/t2/cpu",
      "matmul/mm/n=4/torchscript/forward/t1/cpu",
      "matmul/mm/n=4/torchscript/forward/t2/cpu",
      "matmul/mm/n=4/torchscript/forward_backward/t1/cpu",
      "matmul/mm/n=4/torchscript/forward_backward/t2/cpu",
  };
  for (const char* pattern : {"mm n=4", "matmul/mm n=4", "^mm n=4", "^matmul/mm n=4", "mm.n=4"}) {
    EXPECT_EQ(selected({.filters = {pattern}}), small) << pattern;
  }
  EXPECT_EQ(selected({.filters = {"mm n=4 t2 eager fwd+bwd"}}), (Keys{small[3]}));
  EXPECT_EQ(selected({.filters = {"^mm n=4 eager$"}}), (Keys{small[0]}));
  EXPECT_EQ(selected({.filters = {"^mm n=4 TorchScript$"}}), (Keys{small[4]}));
  EXPECT_EQ(selected({.filters = {"conv/large eager"}}), (Keys{kLarge}));
  EXPECT_EQ(selected({.filters = {"fwd+bwd"}}).size(), 8u);
  EXPECT_EQ(selected({.excludes = {"mm n=", "zzz"}}), (Keys{kLarge}));
}

TEST(Select, MatchesPlainText) {
  std::vector<Variant> variants;
  for (const char* label : {"c++/a*b", "c++/aab", "f(x)/[0]"}) {
    variants.push_back(parse_key(std::string(label) + "/eager/forward/t1/cpu"));
  }
  const auto labels = [&variants](const std::string& pattern) {
    Keys found;
    const auto chosen = select(variants, {.filters = {pattern}});
    for (const Variant& one : chosen.value()) found.push_back(one.label);
    return found;
  };
  EXPECT_EQ(labels("c++/"), (Keys{"c++/a*b", "c++/aab"}));
  EXPECT_EQ(labels("/a*b"), (Keys{"c++/a*b", "c++/aab"}));
  EXPECT_EQ(labels("/a\\*b"), (Keys{"c++/a*b"}));
  EXPECT_EQ(labels("f(x)/[0]"), (Keys{"f(x)/[0]"}));
  EXPECT_EQ(labels("(x"), (Keys{"f(x)/[0]"}));
}

TEST(Select, MatchesGlobs) {
  EXPECT_EQ(selected({.filters = {"*mm*"}}).size(), 16u);
  EXPECT_EQ(selected({.filters = {"*mm*n=4*t2*fwd?bwd"}}).size(), 2u);
  EXPECT_EQ(selected({.filters = {"matmul/*n=64*/forward/*"}}).size(), 4u);
  EXPECT_EQ(selected({.filters = {"*"}, .excludes = {"*mm*"}}), (Keys{kLarge}));
  // Valid regular expressions are not globs.
  EXPECT_EQ(selected({.filters = {"^conv/la*rge/"}}), (Keys{kLarge}));
  EXPECT_EQ(selected({.filters = {"c.*large/.*"}}), (Keys{kLarge}));
}

TEST(Select, IgnoresCaseUnlessThereIsACapital) {
  std::vector<Variant> variants{parse_key("nn/LSTM/eager/forward/t1/cpu"),
                                parse_key("nn/lstm/eager/forward/t1/cpu")};
  EXPECT_EQ(select(variants, {.filters = {"lstm"}})->size(), 2u);
  EXPECT_EQ(select(variants, {.filters = {"LSTM"}})->front().label, "nn/LSTM");
  EXPECT_EQ(select(variants, {.filters = {"LSTM"}})->size(), 1u);
  EXPECT_EQ(select(variants, {.filters = {"^\\Qnn/lstm/eager/forward/t1/cpu\\E$"}})->size(), 1u);
  EXPECT_EQ(selected({.filters = {"torchscript fwd+bwd"}}).size(), 4u);
  EXPECT_EQ(selected({.filters = {"TorchScript fwd+bwd"}}).size(), 4u);
}

// A key alone, as in expected counts, selects the same as its variant.
TEST(Select, AKeySelectsTheSameAsItsVariant) {
  for (const char* pattern : {"mm n=4", "^mm n=4 t2 eager fwd+bwd$", "conv/large eager", "n=64/"}) {
    const auto is_selected = make_selector({.filters = {pattern}});
    for (const Variant& variant : all_variants()) {
      EXPECT_EQ(is_selected(parse_key(variant.key)), is_selected(variant)) << variant.key;
    }
  }
}

TEST(Select, SuggestsFiltersIfNothingMatches) {
  EXPECT_EQ(selected({.filters = {"MATMUL"}}),
            (Keys{"no benchmark matches the filter `MATMUL`: did you mean --filter=matmul?"}));
  EXPECT_EQ(selected({.filters = {"matnul"}}),
            (Keys{"no benchmark matches the filter `matnul`: did you mean --filter=matmul, "
                  "--filter='matmul/mm n=4' or --filter='matmul/mm n=4 t2'?"}));
  EXPECT_EQ(selected({.filters = {"^mm n=46 eager$"}}),
            (Keys{"no benchmark matches the filter `^mm n=46 eager$`: did you mean "
                  "--filter='mm n=4 eager', --filter='mm n=64 eager' or "
                  "--filter='mm n=4 t2 eager'?"}));
  EXPECT_EQ(selected({.filters = {"^conv/lrage$", "zzz"}}),
            (Keys{"no benchmark matches the filter `^conv/lrage$`, `zzz`: did you mean "
                  "--filter=conv/large?"}));
  EXPECT_EQ(selected({.filters = {"zzz"}}),
            (Keys{"no benchmark matches the filter `zzz`: there are 2 labels, such as "
                  "--filter=matmul/mm"}));
  EXPECT_EQ(selected({.filters = {"*zzz*"}}),
            (Keys{"--filter `*zzz*` matches no benchmark: there are 2 labels, such as "
                  "--filter=matmul/mm"}));
}

// Suggestions match even if the name contains special characters.
TEST(Select, QuotesSuggestionsForTheShell) {
  const std::vector<Variant> variants{parse_key("it's (1) $HOME/eager/forward/t1/cpu")};
  const auto none = select(variants, {.filters = {"it's (1) $HUME"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().advice, "did you mean --filter='it'\\''s (1) $HOME'?");
  EXPECT_TRUE(select(variants, {.filters = {"it's (1) $HOME"}}));
}

TEST(Select, ListsValuesIfNothingIsSelected) {
  EXPECT_EQ(selected({.filters = {"conv"}, .backends = {Backend::kTorchScript}}),
            (Keys{"none of the 1 variant that match the filters is selected: the variants have "
                  "backend `eager`"}));
  EXPECT_EQ(
      selected({.threads = {8}, .tags = {"fast"}}),
      (Keys{"none of the 17 variants is selected: the variants have threads `1`, `2`; tags `conv`, "
            "`slow`"}));
  EXPECT_EQ(selected({.excludes = {""}}),
            (Keys{"none of the 17 variants is selected: exclude fewer"}));
}

TEST(Select, RefusesMalformedPatterns) {
  EXPECT_EQ(selected({.filters = {"mm("}})[0].substr(0, 59),
            "--filter `mm(` is not a valid regular expression: missing )");
  EXPECT_EQ(selected({.excludes = {"(conv|lstm"}})[0].substr(0, 57),
            "--exclude `(conv|lstm` is not a valid regular expression:");
  EXPECT_EQ(selected({.filters = {"conv", "mm("}}).size(), 1u);
  EXPECT_EQ(selected({.filters = {"conv", "mm("}})[0].substr(0, 11), "--filter `m");
}

TEST(Select, RefusesToSelectFromNothing) {
  EXPECT_FALSE(instr::select(std::vector<Variant>(), {}));
}

TEST(Select, ShardsContainEachVariantOnceAndAreStable) {
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
  // The shard of a key depends only on the 64-bit XXH3 of its text.
  EXPECT_TRUE(is_in({1 + static_cast<int>(0x2D06800538D394C2 % 7), 7}, ""));
}

TEST(ResolveKey, ReturnsTheOnlyMatch) {
  const std::vector<std::string> known{"mm n=4/eager/forward/t1/cpu", "mm n=8/eager/forward/t1/cpu",
                                       "mm n=8/torchscript/forward/t1/cpu"};
  EXPECT_EQ(resolve_key(known[1], known), known[1]);
  EXPECT_EQ(resolve_key("mm n=4", known), known[0]);
  EXPECT_EQ(resolve_key("torchscript", known), known[2]);
  EXPECT_EQ(to_string(resolve_key("n=8", known).error()),
            "`n=8` matches 2 benchmarks: name one of them:\n  mm n=8/eager/forward/t1/cpu\n"
            "  mm n=8/torchscript/forward/t1/cpu");
  EXPECT_EQ(resolve_key("bmm", known).error().what, "there is no benchmark `bmm`");
}

}  // namespace
}  // namespace instr::select_test
