// The suites of models: suites/*.toml.
#include <map>
#include <set>

#include "tests/testing.h"

namespace instr::suites_test {
namespace {

using namespace testing;

std::vector<Variant> variants_of(const std::string& suite,
                                 const std::vector<Backend>& backends = {Backend::kEager,
                                                                         Backend::kInductor}) {
  const fs::path file = fs::path(INSTR_SOURCE_DIR) / "suites" / (suite + ".toml");
  return value_of(expand(value_of(load_definitions({file})), backends));
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

}  // namespace
}  // namespace instr::suites_test
