// The models of a checkout of TorchBench: one that works, one that cannot be imported, and one for
// CUDA alone.
#include "tests/e2e/experiment_file_reader.h"
#include "tests/labels.h"

namespace instr::e2e::torchbench_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "TorchBench.*");

TEST(TorchBench, ModelsAreMeasuredAndVerifiedEachByItself) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "r.jsonl").string();
  const std::vector<std::string> words{"experiment",
                                       "--torchbench=" + testing::fixture("torchbench").string(),
                                       "--device=cpu",
                                       "--backend=aot_eager",
                                       "--test=eval,train,train_eval",
                                       "--repetitions=2",
                                       "--iterations-per-run=1",
                                       "--no-warm-compile",
                                       "--output=" + output};
  expect_status(1, run(words));
  const auto results = measurements_in(output);
  EXPECT_EQ(results.size(), 18u);  // models x tests x (eager and a backend)
  for (const std::string test : {"forward", "forward_backward", "forward_backward_eval"}) {
    const auto result = [&](const std::string& model) {
      return results.at("torchbench/" + model + "/py/aot_eager/" + test + "/t1/cpu");
    };
    EXPECT_EQ(ending_of(result("nested")), "measured") << test;
    EXPECT_EQ(code_name(result("nested")), "PASS") << test;
    EXPECT_HAS(ending_of(result("broken")), "No module named 'package_that_no_machine_has'");
    EXPECT_HAS(ending_of(result("on_cuda")), "not implemented on cpu");
  }
  // The output in evaluation is compared part by part.
  const auto evaluated = results.at("torchbench/nested/py/aot_eager/forward/t1/cpu");
  EXPECT_HAS(evaluated.verification->reason, "output['scores']");
  const auto again = run(words);
  EXPECT_HAS(again.errors, "12 of 18 are already there");
}

// Their models often return several tensors.
TEST(TorchBench, OutputsWithSeveralTensorsAreComparedOneByOne) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "r.jsonl").string();
  write(folder.path() / "d.toml", R"toml(schema = 1
py_global_setup = """
class Wrong(torch.nn.Module):
    def forward(self, x):
        return x + 1, {"a": x * (2 if torch.compiler.is_compiling() else 3)}

class More(torch.nn.Module):
    def forward(self, x):
        return (x + 1, x) if torch.compiler.is_compiling() else (x + 1,)
"""
[[benchmark]]
label = "several"
py_setup = "x = torch.rand(4)"
signature = "f(x) -> y"
[benchmark.py_modules]
wrong = "Wrong()"
more = "More()"
)toml");
  expect_status(1, run({"experiment", "--definitions=" + (folder.path() / "d.toml").string(),
                        "--backend=aot_eager", "--repetitions=2", "--iterations-per-run=1",
                        "--no-warm-compile", "--output=" + output}));
  const auto results = measurements_in(output);
  const auto reason = [&results](const std::string& label) {
    return results.at("several/" + label + "/py/aot_eager/forward/t1/cpu").verification->reason;
  };
  EXPECT_HAS(reason("wrong"), "output[1]['a']: largest difference");
  EXPECT_EQ(reason("more"), "output[1]: eager's output has no such part");
}

TEST(TorchBench, AnotherFolderIsRefused) {
  const TemporaryFolder folder;
  const std::string option = "--torchbench=" + folder.path().string();
  EXPECT_HAS(expect_status(2, run({"experiment", option})).errors,
             "there is no folder torchbenchmark/models in it");
  const auto listed = expect_status(
      0, run({"list", "--torchbench=" + testing::fixture("torchbench").string(), "--format=csv"}));
  EXPECT_HAS(listed.output, "torchbench/broken/py/eager/forward/t1/cpu");
}

}  // namespace
}  // namespace instr::e2e::torchbench_test
