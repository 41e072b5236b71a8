// The suites of models: suites/*.toml.

#include <algorithm>
#include <set>

#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "tests/testing.h"

namespace instr::suites_test {
namespace {

using namespace testing;

std::vector<Variant> variants_of(const std::string& suite,
                                 const std::vector<Backend>& backends = {Backend::kEager,
                                                                         Backend::kInductor}) {
  const fs::path file = fs::path(INSTR_SOURCE_DIR) / "suites" / (suite + ".toml");
  return value_of(expand(value_of(load_definitions({file})).benchmarks, backends));
}

struct Suite {
  const char* name;
  const char* package;
  std::size_t models;  // minimum number
};

class Suites : public ::testing::TestWithParam<Suite> {};

TEST_P(Suites, HoldModelsThatAreEvaluatedAndTrainedSmallAndAsPublished) {
  const Suite& suite = GetParam();
  std::map<std::string, std::set<std::string>> kinds;  // by model
  for (const Variant& variant : variants_of(suite.name)) {
    EXPECT_TRUE(variant.label.starts_with(std::string(suite.name) + "/")) << variant.label;
    ASSERT_EQ(variant.packages.size(), 1u) << variant.label;
    EXPECT_TRUE(variant.packages[0].starts_with(suite.package)) << variant.label;
    kinds[variant.label].insert(variant.key.substr(variant.label.size()));
  }
  EXPECT_GE(kinds.size(), suite.models);
  std::set<std::string> all;
  for (const char* size : {"small", "published"}) {
    for (const char* run : {"eager/forward", "eager/forward_backward", "inductor/forward",
                            "inductor/forward_backward"}) {
      for (const char* device : {"cpu", "cuda"}) {
        all.insert(std::string("/batch_size=2/size=") + size + "/py/" + run + "/t1/" + device);
      }
    }
  }
  for (const auto& [model, its] : kinds) EXPECT_EQ(its, all) << model;
}

// The name alone would make a model of the published size: every model must have a small variant.
TEST_P(Suites, SubstituteEveryNameInBraces) {
  for (const Variant& variant : variants_of(GetParam().name)) {
    std::string text = variant.module->code;
    for (const Text& setup : variant.setups) text += setup.code;
    for (const char* name : {"{size}", "{batch_size}", "{device}", "{training}"}) {
      EXPECT_EQ(text.find(name), std::string::npos) << variant.key;
    }
    EXPECT_HAS(text, "\"" + variant.params.at(1).second + "\" == \"small\"") << variant.key;
  }
}

// Eager and traced; a frozen model has no parameters to differentiate by.
TEST(CppSuite, HasTenModelsThatRunInEveryWay) {
  std::map<std::string, std::set<std::string>> models;
  for (const Variant& variant : variants_of("cpp", {Backend::kEager, Backend::kTorchScript})) {
    EXPECT_EQ(variant.language, Language::kCpp) << variant.key;
    models[variant.label].insert(variant.key);
    const bool is_training = variant.autograd == Autograd::kForwardBackward;
    EXPECT_HAS(variant.module->code, is_training ? ", true, " : ", false, ");
    std::string text = variant.module->code;
    for (const Text& setup : variant.global_setups) text += setup.code;
    for (const Text& setup : variant.setups) text += setup.code;
    for (const char* name : {"{size}", "{batch_size}", "{device}", "{training}"}) {
      EXPECT_EQ(text.find(name), std::string::npos) << variant.key;
    }
  }
  EXPECT_EQ(models.size(), 10u);
  // With backward and without, small and published, on both devices.
  for (const auto& [label, keys] : models) EXPECT_EQ(keys.size(), 16u) << label;
}

INSTANTIATE_TEST_SUITE_P(Models, Suites,
                         ::testing::Values(Suite{"torchvision", "torchvision", 15},
                                           Suite{"timm", "timm", 25},
                                           Suite{"huggingface", "transformers", 20}),
                         [](const auto& test) { return std::string(test.param.name); });

// The fixture has a name of each kind in PyTorch's
// expected_ci_operator_benchmark_eager_float32_cpu.csv.
TEST(OperatorsSuite, HasTheNamesOfPytorchsOperatorBenchmark) {
  std::set<std::string> names;
  for (const Variant& variant : variants_of("operators", {Backend::kEager})) {
    EXPECT_EQ(variant.limits.at("instructions"), "0.5%") << variant.key;
    EXPECT_EQ(variant.description.find_first_of("{}"), std::string::npos) << variant.description;
    names.insert(variant.description);
  }
  EXPECT_GT(names.size(), 550u);
  const auto known = split_lines(text_of(fixture("operators/names.txt")));
  EXPECT_EQ(known.size(), 46u);
  for (const std::string& name : known) EXPECT_TRUE(names.contains(name)) << name;
}

// --- The standard set ---

std::vector<Variant> shipped_variants() {
  const fs::path folder = fs::path(INSTR_SOURCE_DIR) / "definitions";
  return value_of(expand(value_of(load_definitions({folder})).benchmarks));
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
  EXPECT_EQ(seen, 10);
}

}  // namespace
}  // namespace instr::suites_test
