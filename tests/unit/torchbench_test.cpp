// The models of a checkout of TorchBench, and the YAML that describes them.
#include "core/definitions/torchbench.h"

#include <fmt/format.h>

#include "core/base/yaml.h"
#include "core/definitions/expand.h"
#include "core/definitions/load.h"
#include "tests/testing.h"

namespace instr::torchbench_test {
namespace {

using namespace testing;

TEST(SimpleYaml, HasBlocksAnchorsAndComments) {
  EXPECT_EQ(parse_simple_yaml("a: 1 # one\n# b: 2\nlist: &names\n  - x\n  - 'y z'\n"
                              "more:\n- *names\n- {}\n- k: v\n  l: [] \n-\n  - in\nempty:\n"
                              "last: true\n")
                .dump(),
            R"({"a":"1","list":["x","y z"],"more":[["x","y z"],{},{"k":"v","l":[]},["in"]],)"
            R"("empty":null,"last":"true"})");
  EXPECT_EQ(parse_simple_yaml("").dump(), "null");
  EXPECT_EQ(parse_simple_yaml("a: &b\n  c: d\ne: *b\nf: *unknown\n").dump(),
            R"({"a":{"c":"d"},"e":{"c":"d"},"f":null})");
}

TEST(SimpleYaml, OddTextEnds) {
  for (const char* text : {"-", ":", "- - - -", "a:\n   b\n  c: d\n b", "\t- x", "a\n- b\n c: d",
                           "? {x: [}\n", "&a: *a\n", "- a: &b\n  - *b"}) {
    parse_simple_yaml(text);
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "- ";
  parse_simple_yaml(deep);
}

// A checkout with these files in torchbenchmark/models/NAME.
class TorchBench : public ::testing::Test {
 protected:
  void add_model(const std::string& name, const std::string& metadata = "") {
    const fs::path folder = folder_.path() / "torchbenchmark/models" / name;
    fs::create_directories(folder);
    write(folder / "__init__.py", "");
    if (!metadata.empty()) write(folder / "metadata.yaml", metadata);
  }

  std::vector<Variant> variants(const std::vector<int>& batch_sizes = {}) {
    const fs::path file = fs::path(INSTR_SOURCE_DIR) / "suites/torchbench.inc";
    const auto loaded = value_of(load_definitions({file}));
    EXPECT_EQ(loaded.benchmarks.size(), 1u);
    return value_of(
        expand(value_of(list_torchbench(loaded.benchmarks.back(), folder_.path(), batch_sizes)),
               {Backend::kEager}));
  }

  TemporaryFolder folder_;
};

TEST_F(TorchBench, EachFolderIsAModel) {
  add_model("b");
  add_model("a");
  fs::create_directories(folder_.path() / "torchbenchmark/models/__pycache__");
  EXPECT_TRUE(check_torchbench(folder_.path()));
  const auto all = variants();
  EXPECT_EQ(
      keys_of(all),
      (std::vector<std::string>{
          "torchbench/a/py/eager/forward/t1/cpu", "torchbench/a/py/eager/forward/t1/cuda",
          "torchbench/a/py/eager/forward_backward/t1/cpu",
          "torchbench/a/py/eager/forward_backward/t1/cuda", "torchbench/b/py/eager/forward/t1/cpu",
          "torchbench/b/py/eager/forward/t1/cuda", "torchbench/b/py/eager/forward_backward/t1/cpu",
          "torchbench/b/py/eager/forward_backward/t1/cuda"}));
  EXPECT_HAS(all[2].setups.front().code,
             fmt::format("load(\"{}\", \"a\", True, device=\"cpu\", batch_size=None)",
                         folder_.path().string()));
  EXPECT_EQ(all[2].tolerance.rmse, 1e-4);
  EXPECT_EQ(all[3].tolerance.rmse, 1e-3);  // training on CUDA
  const auto with_batch = variants({1, 16});
  EXPECT_EQ(with_batch[0].key, "torchbench/a/batch_size=1/py/eager/forward/t1/cpu");
  EXPECT_HAS(with_batch[0].setups.front().code, "batch_size=1)");
}

TEST_F(TorchBench, MetadataAndTheRunnersSettingsNameWhatIsSkipped) {
  add_model("a",
            "not_implemented:\n  # too slow\n  - test: train\n    device: cpu\n  - jit: true\n"
            "  - device: cuda\n");
  add_model("b");
  fs::create_directories(folder_.path() / "userbenchmark/dynamo/dynamobench");
  write(folder_.path() / "userbenchmark/dynamo/dynamobench/torchbench.yaml",
        "many: &MANY\n  - a\n  - b\nskip:\n  device:\n    cpu:\n    - c\n  test:\n    training:\n"
        "      - *MANY\ntolerance:\n  even_higher:\n    - b\ndont_change_batch_size:\n  - b\n");
  const auto all = variants({4});
  const auto& of_a = all.front().skipped_tests;
  ASSERT_EQ(of_a.size(), 3u);
  EXPECT_EQ(of_a[0].test + " " + of_a[0].device, "train cpu");
  EXPECT_EQ(of_a[0].reason, "its metadata.yaml lists it as not implemented for train on cpu");
  EXPECT_EQ(of_a[1].test + " " + of_a[1].device, " cuda");
  EXPECT_EQ(of_a[1].reason, "its metadata.yaml lists it as not implemented on cuda");
  EXPECT_EQ(of_a[2].reason, "PyTorch's torchbench.yaml lists it in /skip/test/training");
  EXPECT_EQ(all.back().key, "torchbench/b/py/eager/forward_backward/t1/cuda");
  EXPECT_EQ(all.back().tolerance.rmse, 8e-2);
  EXPECT_EQ(all.back().skipped_tests.size(), 1u);
}

TEST_F(TorchBench, AnotherFolderIsRefused) {
  EXPECT_EQ(to_string(check_torchbench(folder_.path()).error()),
            folder_.path().string() +
                ": there is no folder torchbenchmark/models in it: name a checkout of "
                "github.com/pytorch/benchmark");
  fs::create_directories(folder_.path() / "torchbenchmark/models");
  const auto none = list_torchbench({}, folder_.path(), {});
  ASSERT_FALSE(none);
  EXPECT_HAS(to_string(none.error()), "models: no model (a folder with an __init__.py)");
}

}  // namespace
}  // namespace instr::torchbench_test
