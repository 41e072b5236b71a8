// The standard set, the definitions in definitions/: its invariants, however it grows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/definitions/expand.h"
#include "core/definitions/load.h"

namespace instr::standard_set_test {
namespace {

std::vector<Variant> shipped_variants() {
  const auto definitions =
      load_definitions({std::filesystem::path(INSTR_SOURCE_DIR) / "definitions"});
  if (!definitions) {
    for (const Error& error : definitions.error()) ADD_FAILURE() << to_string(error);
    return {};
  }
  auto variants = expand(*definitions);
  if (!variants) {
    for (const Error& error : variants.error()) ADD_FAILURE() << to_string(error);
    return {};
  }
  return *std::move(variants);
}

bool has_tag(const Variant& variant, const std::string& tag) {
  return std::find(variant.tags.begin(), variant.tags.end(), tag) != variant.tags.end();
}

std::vector<Variant> standard_variants() {
  std::vector<Variant> standard;
  for (Variant& variant : shipped_variants()) {
    if (has_tag(variant, "standard")) standard.push_back(std::move(variant));
  }
  return standard;
}

// The group of a label: the longest of these that the label begins with.
std::string group_of(const std::string& label, const std::map<std::string, int>& groups) {
  std::string best = "(none) " + label;
  std::size_t length = 0;
  for (const auto& [group, count] : groups) {
    const bool begins = label == group || label.starts_with(group + "/");
    if (begins && group.size() > length) {
      best = group;
      length = group.size();
    }
  }
  return best;
}

std::vector<Variant> standard_variants(Language language) {
  std::vector<Variant> standard = standard_variants();
  std::erase_if(standard, [language](const Variant& one) { return one.language != language; });
  return standard;
}

std::map<std::string, int> sizes_of(const std::map<std::string, int>& groups, Language language) {
  std::map<std::string, int> sizes;
  for (const Variant& variant : standard_variants(language)) {
    ++sizes[group_of(variant.label, groups)];
  }
  return sizes;
}

TEST(StandardSet, TagGivesExactlyThe95OfCppAnd86OfPythonInTheirGroups) {
  std::map<std::string, int> expected{
      {"Empty", 2},
      {"Empty/overloads/TensorOptions", 3},
      {"Empty/overloads/faithful", 3},
      {"Pointwise/Math/add", 7},
      {"Pointwise/Math/multiply", 7},
      {"Pointwise/Math/equality", 2},
      {"Pointwise/Data movement", 6},
      {"Reduction", 3},
      {"Indexing/Tensor-Scalar", 3},
      {"Indexing/Tensor-Scalar (Advanced)", 5},
      {"Indexing/Tensor-Tensor", 3},
      {"Indexing/Tensor-Tensor (Advanced)", 5},
      {"Metadata and views", 8},
      {"nn Modules", 19},
      {"training/simple", 8},
      {"training/ensemble", 8},
      {"InferenceMode", 3},
  };
  EXPECT_EQ(sizes_of(expected, Language::kCpp), expected);
  EXPECT_EQ(standard_variants(Language::kCpp).size(), 95u);
  // What is a matter of C++ has no twin.
  for (const char* label :
       {"Empty/overloads/TensorOptions", "Empty/overloads/faithful", "InferenceMode"}) {
    expected.erase(label);
  }
  EXPECT_EQ(sizes_of(expected, Language::kPython), expected);
  EXPECT_EQ(standard_variants(Language::kPython).size(), 86u);
}

TEST(StandardSet, ModulesAreEagerAndTorchScriptExceptTheLstm) {
  std::map<std::string, std::set<std::string>> runtimes;
  for (const Variant& variant : standard_variants()) {
    if (!variant.label.starts_with("nn Modules/")) continue;
    EXPECT_TRUE(variant.module.has_value()) << variant.key;
    EXPECT_EQ(variant.autograd, Autograd::kForward) << variant.key;
    runtimes[variant.label.substr(11)].insert(to_string(variant.language) + std::string(" ") +
                                              to_string(variant.runtime));
  }
  const std::set<std::string> both{"cpp eager", "cpp torchscript", "py eager", "py torchscript"};
  const std::map<std::string, std::set<std::string>> expected{
      {"BatchNorm2d", both},
      {"Conv1d", both},
      {"Conv2d", both},
      {"GroupNorm", both},
      {"LSTM", {"cpp eager", "py eager"}},
      {"LayerNorm", both},
      {"Linear", both},
      {"MaxPool2d", both},
      {"ReLU", both},
      {"Sigmoid", both},
  };
  EXPECT_EQ(runtimes, expected);
}

TEST(StandardSet, TrainingRunsEveryWay) {
  std::set<std::string> got;
  for (const Variant& variant : standard_variants()) {
    if (variant.label.starts_with("training/")) got.insert(variant.key);
  }
  std::set<std::string> expected;
  for (const char* label : {"simple", "ensemble"}) {
    for (const char* runtime : {"eager", "torchscript"}) {
      for (const char* autograd : {"forward", "forward_backward"}) {
        for (const char* threads : {"t1", "t2"}) {
          for (const char* language : {"", "py/"}) {
            expected.insert(std::string("training/") + label + "/" + language + runtime + "/" +
                            autograd + "/" + threads + "/cpu");
          }
        }
      }
    }
  }
  EXPECT_EQ(got, expected);
}

TEST(StandardSet, StatementsAreThePublishedOnes) {
  std::map<std::string, std::string> statements;
  for (const Variant& variant : standard_variants()) {
    if (variant.stmt && variant.runtime == Runtime::kEager) {
      const bool is_python = variant.language == Language::kPython;
      statements[variant.label + (is_python ? " py" : "")] = variant.stmt->code;
    }
  }
  EXPECT_EQ(statements["Empty/no allocation py"], "torch.empty(())");
  EXPECT_EQ(statements["Pointwise/Math/add/0 py"], "x += 1.0");
  EXPECT_EQ(statements["Pointwise/Math/multiply/6 py"], "torch.mul(x, y_float, out=x)");
  EXPECT_EQ(statements["Indexing/Tensor-Tensor (Advanced)/4 py"], "x[True] = y[True]");
  EXPECT_EQ(statements["Empty/no allocation"], "torch::empty({0});");
  EXPECT_EQ(statements["Pointwise/Math/add/0"], "x += 1;");
  EXPECT_EQ(statements["Pointwise/Math/multiply/6"], "torch::mul_out(/*out=*/x, x, y_float);");
  EXPECT_EQ(statements["Indexing/Tensor-Tensor (Advanced)/4"],
            "x.index_put_({true}, y.index({true}));");
  EXPECT_EQ(statements["Metadata and views/as_strided"], "x.as_strided({2, 3}, {4, 1}, 2);");
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

TEST(StandardSet, CoversEveryThemeBeyondThe95) {
  std::set<std::string> themes;
  for (const Variant& variant : shipped_variants()) {
    if (!has_tag(variant, "standard"))
      themes.insert(variant.label.substr(0, variant.label.find('/')));
  }
  for (const char* theme : {"attention", "core", "creation", "data types", "layers", "matmul",
                            "optimizers", "reductions", "shape"}) {
    EXPECT_TRUE(themes.contains(theme)) << theme;
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
