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

// A name of each kind that PyTorch's expected_ci_operator_benchmark_eager_float32_cpu.csv has.
const char* const kOperators[] = {
    "add_M64_N64_K128_cpu",
    "add_M1_N1_K1_cpu_bwd2_BACKWARD",
    "addmm_M64_N64_K64_cpu_bwd3_BACKWARD",
    "as_strided_M256_N256_size(32,32)_stride(1,1)_storage_offset0_cpu",
    "batchnorm_M1_N256_K3136_cpu_trainingTrue_cudnnFalse",
    "batchnorm_N3136_C256_cpu_trainingFalse_cudnnFalse_bwdall_BACKWARD",
    "add_in_one[64,1,64]_in_two[1,64,1]_cpu_dtypetorch.float32",
    "copy__M64_N64_K64_cpu_dtype_onetorch.int32_dtype_twotorch.int32",
    "cat_sizes(128,1024,2)_N2_dim1_cpu",
    "channel_shuffle_batch_size2_channels_per_group16_height16_width16_groups2_channel_lastTrue",
    "chunk_M256_N512_chunks2_cpu",
    "Conv1d_IC128_OC256_kernel3_stride1_N1_L64_cpu",
    "ConvTranspose1d_IC2016_OC1026_kernel1024_stride256_N1_L224_cpu",
    "Conv2dPointwise_IC256_OC256_stride1_N1_H16_W16_G1_pad0_cpu",
    "ConvTranspose3d_IC64_OC64_kernel3_stride1_N8_D4_H16_W16_cpu",
    "diag_dim2_M128_N128_diagonal-10_outFalse_cpu",
    "embeddingbag_embeddingbags120_dim64_modesum_input_size16_offset0_sparseTrue_"
    "include_last_offsetFalse_cpu",
    "embedding_num_embeddings10_embedding_dim64_input_size8_cpu_BACKWARD",
    "fill__N1024_cpu_dtypetorch.int32",
    "gather_M512_N512_dim1_cpu",
    "GroupNormBenchmark_dims(32,8,56,56)_num_groups4",
    "Hardswish_N4_C3_H256_W256_cpu",
    "InstanceNormBenchmark_dims(32,8,16)",
    "interpolate_input_size(1,3,60,40)_output_size(24,24)_channels_lastTrue_modelinear",
    "interpolate_input_size(1,1,320,320)_output_size(256,256)_channels_lastFalse_modenearest_"
    "dtypetorch.uint8",
    "LayerNormBenchmark_dims(64,128,56,56)",
    "linear_N16_IN512_OUT256_cpu",
    "matmul_M256_N256_K256_trans_aFalse_trans_bTrue_cpu",
    "nan_to_num_M16_N64_dtypetorch.float64_replace_infFalse",
    "FractionalMaxPool3d_kernel[3,1,3]_stride[2,1,2]_N1_C16_D16_H32_W32_cpu",
    "remainder_M64_N64_K128_cpu_dtypetorch.int32",
    "LogSoftmax_N4_C3_H256_W256_cpu",
    "split_M8_N8_parts2_cpu",
    "sum_R64_V512_dim1_contiguousFalse_cpu",
    "HalfToFloatTensorConversionBenchmark_M16_N64_cpu",
    "functional.leaky_relu_dims(2,3,4,5)_contigFalse_inplaceFalse_dtypetorch.qint8",
    "add_relu_N64_dtypetorch.qint32_contigTrue",
    "mul_scalar_N8_dtypetorch.quint8_contigFalse",
    "QConv1d_IC256_OC256_kernel3_stride2_N4_L64_cpu",
    "QDynamicLinear_N4_IN256_OUT128_cpu",
    "DequantizePerTensor_C3_M512_N512_dtypetorch.quint8_modeD",
    "q_relu__M512_N512_dtypetorch.quint8",
    "qtopk_M512_N512_k5_dtypetorch.quint8",
    "exp__M512_N512_cpu",
    "uniform__M512_N512_cpu",
    "long_M512_N512_cpu",
};

TEST(OperatorsSuite, HasTheNamesOfPytorchsOperatorBenchmark) {
  std::set<std::string> names;
  for (const Variant& variant : variants_of("operators", {Backend::kEager})) {
    EXPECT_EQ(variant.limits.at("instructions"), "0.5%") << variant.key;
    EXPECT_EQ(variant.description.find_first_of("{}"), std::string::npos) << variant.description;
    names.insert(variant.description);
  }
  EXPECT_GT(names.size(), 550u);
  for (const char* name : kOperators) EXPECT_TRUE(names.contains(name)) << name;
}

// --- The standard set ---

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
}  // namespace instr::suites_test
