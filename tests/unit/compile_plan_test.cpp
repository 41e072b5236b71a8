#include <gtest/gtest.h>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"

namespace instr::compile_plan_test {
namespace {

Variant variant(const std::string& stmt) {
  Variant result;
  result.key = stmt;
  result.stmt = Text{stmt, {"a.toml", 1, 1}};
  return result;
}

std::vector<std::size_t> sizes(const std::vector<FunctionGroup>& groups) {
  std::vector<std::size_t> result;
  for (const auto& group : groups) result.push_back(group.functions.size());
  return result;
}

std::vector<std::size_t> unit_sizes(const std::vector<Variant>& variants, int jobs) {
  std::vector<std::size_t> result;
  for (const auto& unit : cut_units(group_functions(variants), jobs)) result.push_back(unit.size());
  return result;
}

std::vector<Variant> many(int count) {
  std::vector<Variant> result;
  for (int i = 0; i < count; ++i) result.push_back(variant("f(" + std::to_string(i) + ");"));
  return result;
}

TEST(GroupFunctions, EqualCodeSharesAFunction) {
  Variant two_threads = variant("f();");
  two_threads.key = "t2";
  two_threads.threads = 2;
  const auto groups = group_functions({variant("f();"), variant("g();"), two_threads});
  ASSERT_EQ(sizes(groups), (std::vector<std::size_t>{2}));
  ASSERT_EQ(groups[0].functions[0].variants.size(), 2u);
  EXPECT_EQ(groups[0].functions[0].variants[1].key, "t2");
}

TEST(GroupFunctions, SeparatesVariantsThatCannotShareAUnit) {
  Variant global = variant("g();");
  global.global_setups = {Text{"#include <numeric>\nint g();", {}}};

  Variant same_global = variant("g() + 1;");
  same_global.global_setups = global.global_setups;
  Variant built = variant("f();");
  built.build = std::make_shared<BuildOptions>();
  const auto groups = group_functions(
      {variant("f();"), global, variant("} f(); {"), same_global, built, variant("h();")});
  EXPECT_EQ(sizes(groups), (std::vector<std::size_t>{2, 2, 1, 1}));
}

TEST(GroupFunctions, ADirectiveKeepsAVariantAlone) {
  Variant defines = variant("f();");
  defines.setups = {Text{"#define f g\n", {}}};
  Variant global = variant("f();");
  global.global_setups = {Text{"#define f g\n", {}}};
  EXPECT_EQ(group_functions({defines, global}).size(), 2u);
}

TEST(CutUnits, MakesAboutAsManyAsJobs) {
  EXPECT_EQ(unit_sizes(many(95), 2), (std::vector<std::size_t>{48, 47}));
  EXPECT_EQ(unit_sizes(many(1), 8), (std::vector<std::size_t>{1}));
  EXPECT_EQ(unit_sizes(many(3), 8), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_TRUE(unit_sizes({}, 2).empty());
}

TEST(CutUnits, LimitsAUnitsSize) {
  const auto sizes = unit_sizes(many(400), 2);
  EXPECT_EQ(sizes.size(), 7u);
  for (auto size : sizes) EXPECT_LE(size, kMaxUnitSize);
}

TEST(CutAll, MakesAUnitOfEachFunction) {
  auto variants = many(5);
  variants[0].global_setups = variants[1].global_setups = {Text{"TORCH_LIBRARY(my, m) {}", {}}};
  const auto units = cut_all(group_functions(variants));
  ASSERT_EQ(units.size(), 5u);
  for (const auto& unit : units) EXPECT_EQ(unit.size(), 1u);
}

// Makes the eager and the frozen variant of a benchmark.
std::vector<Variant> compared(const std::string& stmt, const std::string& global_setup,
                              const std::string& script) {
  Variant eager = variant(stmt);
  eager.key = stmt + "/eager/forward/t1/cpu";
  eager.global_setups = {Text{global_setup, {}}};
  eager.signature = Signature{{"x"}, "y", {}};
  eager.torchscript = Text{script, {}};
  Variant frozen = eager;
  frozen.key = stmt + "/frozen/forward/t1/cpu";
  frozen.backend = Backend::kFrozen;
  return {eager, frozen};
}

std::vector<std::vector<std::string>> keys(const std::vector<std::vector<UnitFunction>>& units) {
  std::vector<std::vector<std::string>> result;
  for (const auto& unit : units) {
    auto& names = result.emplace_back();
    for (const auto& function : unit) names.push_back(function.variants.front().key);
  }
  return result;
}

const std::vector<std::vector<std::string>> kTogether{
    {"auto y = f(x);/eager/forward/t1/cpu", "auto y = f(x);/frozen/forward/t1/cpu"},
    {"auto y = g(x);/eager/forward/t1/cpu", "auto y = g(x);/frozen/forward/t1/cpu"}};

TEST(CutUnits, DoesNotSeparateComparedFunctions) {
  const auto f = compared("auto y = f(x);", "TORCH_LIBRARY(my, m) {}", "y = f(x)");
  const auto g = compared("auto y = g(x);", "TORCH_LIBRARY(my, m) {}", "y = g(x)");
  for (Purpose purpose : {Purpose::kMeasure, Purpose::kVerify}) {
    EXPECT_EQ(keys(cut_units(group_functions({f[0], g[0], g[1], f[1]}, purpose), 4)), kTogether);
  }
}

// The directive keeps each text alone, but code that registers an operator can be loaded only once.
// Both benchmarks have the same script.
TEST(GroupFunctions, AVerifiedVariantIsWithItsEagerVariant) {
  const std::string global_setup = "#define X\nTORCH_LIBRARY(my, m) {}";
  const auto f = compared("auto y = f(x);", global_setup, "y = x");
  const auto g = compared("auto y = g(x);", global_setup, "y = x");
  const std::vector<Variant> all{f[0], g[0], g[1], f[1]};
  EXPECT_EQ(keys(cut_units(group_functions(all, Purpose::kVerify), 4)), kTogether);
  EXPECT_EQ(cut_units(group_functions(all, Purpose::kMeasure), 4).size(), 3u);
}

}  // namespace
}  // namespace instr::compile_plan_test
