// The features that suites of models use: packages of Python, many modules, {training}.
#include "tests/e2e/experiment_file_reader.h"
#include "tests/labels.h"

namespace instr::e2e::suites_test {
namespace {

const RunsUnder kNewestLibtorch("newest", "SuitesOfModels.*");

// A module that is evaluated without gradients and trained with them. Each interpreter with a torch
// has its package.
const char* const kModels = R"toml(schema = 1
py_global_setup = """
import sys

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        assert "fsspec" in sys.modules

    def forward(self, x):
        assert self.training == torch.is_grad_enabled()
        y = self.linear(x)
        return torch.nn.functional.mse_loss(y, x) if self.training else y
"""

[[benchmark]]
label = "models"
python = ["torch>=1.13", "fsspec"]
py_setup = "torch.set_grad_enabled({training}); x = torch.ones((2, 4))"
signature = "f(x) -> y"
autograd = true
[benchmark.py_modules]
one = "Model().train({training})"
two = "torch.nn.Sequential(Model()).train({training})"

[[benchmark]]
label = "missing"
python = ["fsspec", "instr-no-such-package >=1"]
py_stmt = "1"

[[benchmark]]
label = "old"
python = ["torch>=1000"]
py_stmt = "1"
)toml";

TEST(SuitesOfModels, AreTrainedAndEvaluatedWithTheirPackagesOrSkipped) {
  const fs::path interpreter = python_of_libtorch();
  if (interpreter.empty()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "r.jsonl").string();
  write(folder.path() / "d.toml", kModels);
  expect_status(0, run({"experiment", "--definitions=" + (folder.path() / "d.toml").string(),
                        "--repetitions=2", "--iterations-per-run=1", "--backend=aot_eager",
                        "--output=" + output}));
  std::map<std::string, std::string> outcomes;
  for (const auto& [key, one] : measurements_in(output)) {
    const bool is_measured = state_of(one) == MeasuredState::kMeasured;
    outcomes[key] = is_measured ? code_name(one) : reason_of(one);
  }
  const std::string pip = interpreter.string() + " -m pip install ";
  const std::map<std::string, std::string> expected{
      {"models/one/py/aot_eager/forward/t1/cpu", "PASS"},
      {"models/one/py/aot_eager/forward_backward/t1/cpu", "PASS"},
      {"models/one/py/eager/forward/t1/cpu", "VERIFIER_SKIPPED"},
      {"models/one/py/eager/forward_backward/t1/cpu", "VERIFIER_SKIPPED"},
      {"models/two/py/aot_eager/forward/t1/cpu", "PASS"},
      {"models/two/py/aot_eager/forward_backward/t1/cpu", "PASS"},
      {"models/two/py/eager/forward/t1/cpu", "VERIFIER_SKIPPED"},
      {"models/two/py/eager/forward_backward/t1/cpu", "VERIFIER_SKIPPED"},
      {"missing/py/eager/forward/t1/cpu",
       "needs the package instr-no-such-package: " + pip + "fsspec 'instr-no-such-package >=1'"},
      {"old/py/eager/forward/t1/cpu", outcomes["old/py/eager/forward/t1/cpu"]}};
  EXPECT_EQ(outcomes, expected);
  EXPECT_TRUE(outcomes["old/py/eager/forward/t1/cpu"].ends_with(pip + "'torch>=1000'"));
}

TEST(SuitesOfModels, TakeStepsOfAnOptimizerInTrainingOnRequest) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  const TemporaryFolder folder;
  write(folder.path() / "d.toml", R"toml(schema = 1
py_global_setup = """
class Refused(torch.optim.SGD):
    def step(self):
        raise ArithmeticError("a step")
"""
[[benchmark]]
label = "linear"
py_setup = "x = torch.rand(4, 8)"
py_module = "torch.nn.Linear(8, 8)"
signature = "f(x) -> y"
autograd = true
reduce = "sum"
optimizer = "torch.optim.SGD(params, lr=0.01)"
)toml");
  const auto results = [&](int status, std::vector<std::string> more) {
    const std::string output = (folder.path() / "r.jsonl").string();
    for (const std::string& word :
         {std::string("experiment"), "--definitions=" + (folder.path() / "d.toml").string(),
          std::string("--repetitions=2"), std::string("--iterations-per-run=1"),
          std::string("--backend=aot_eager"), std::string("--no-warm-compile"),
          "--output=" + output}) {
      more.push_back(word);
    }
    std::rotate(more.begin(), std::find(more.begin(), more.end(), "experiment"), more.end());
    expect_status(status, run(more));
    return measurements_in(output);
  };
  const auto stepped = results(0, {});
  EXPECT_EQ(stepped.size(), 4u);
  EXPECT_EQ(code_name(stepped.at("linear/py/aot_eager/forward/t1/cpu")), "PASS");
  EXPECT_EQ(code_name(stepped.at("linear/optimizer=SGD/py/aot_eager/forward_backward/t1/cpu")),
            "PASS");
  const auto refused = results(1, {"--optimizer=Refused(params, lr=1)", "--test=train"});
  EXPECT_HAS(ending_of(refused.at("linear/optimizer=Refused/py/eager/forward_backward/t1/cpu")),
             "a step");
}

// Models that refuse training mode.
const char* const kOnlyEvaluated = R"toml(schema = 1
py_global_setup = """
class OnlyEvaluated(torch.nn.Linear):
    def forward(self, x):
        assert not self.training
        return super().forward(x)
"""

[[benchmark]]
label = "evaluated"
py_setup = "torch.set_grad_enabled({training}); x = torch.ones((2, 4))"
py_module = "OnlyEvaluated(4, 4).train({training})"
signature = "f(x) -> y"
autograd = true
reduce = "sum"

[[benchmark]]
label = "in C++"
global_setup = """
struct OnlyEvaluatedImpl : torch::nn::Module {
  OnlyEvaluatedImpl() { linear = register_module("linear", torch::nn::Linear(4, 4)); }
  torch::Tensor forward(const torch::Tensor& x) {
    TORCH_CHECK(!is_training(), "in training mode");
    return linear(x);
  }
  torch::nn::Linear linear{nullptr};
};
TORCH_MODULE(OnlyEvaluated);
"""
setup = "auto x = torch::ones({2, 4});"
module = "OnlyEvaluated()"
signature = "f(x) -> y"
torchscript = true
autograd = true
reduce = "sum"
)toml";

TEST(SuitesOfModels, AreDifferentiatedInEvaluationModeOnRequest) {
  if (python_of_libtorch().empty()) GTEST_SKIP() << "TORCH_DIR is not the torch of an interpreter";
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "r.jsonl").string();
  const std::string definitions = "--definitions=" + (folder.path() / "d.toml").string();
  write(folder.path() / "d.toml", kOnlyEvaluated);
  expect_status(
      1, run({"experiment", definitions, "--repetitions=2", "--iterations-per-run=1",
              "--backend=aot_eager,torchscript", "--test=train,train_eval", "--output=" + output}));
  const auto results = measurements_in(output);
  EXPECT_EQ(results.size(), 8u);
  for (const std::string prefix : {"evaluated/py/aot_eager", "in C++/torchscript"}) {
    EXPECT_EQ(code_name(results.at(prefix + "/forward_backward_eval/t1/cpu")), "PASS") << prefix;
    EXPECT_EQ(code_name(results.at(prefix + "/forward_backward/t1/cpu")), "EAGER_FAILED") << prefix;
  }
  const auto counted = expect_status(0, run({definitions, "--filter=^evaluated", "--show-keys",
                                             "--autograd=forward_backward_eval"}));
  EXPECT_HAS(counted.output, "evaluated/py/eager/forward_backward_eval/t1/cpu");
}

}  // namespace
}  // namespace instr::e2e::suites_test
