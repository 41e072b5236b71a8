// Options of experiments in a file.
#include "core/commands/experiment_options.h"

#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::experiment_options_test {
namespace {

using namespace testing;

tl::expected<void, Errors> apply(const std::string& text, ExperimentOptions& options) {
  return apply_experiment_file(SourceText("e.toml", text), options);
}

TEST(ExperimentOptions, AreTakenUnlessTheCommandLineHasThem) {
  ExperimentOptions options;
  options.plan.axes.threads = {4};
  options.repetitions = 7;
  auto applied = apply(R"(filter = "matmul"
backend = ["frozen"]
test = "eval"
device = "cpu"
dtype = ["float64"]
threads = [1, 2]
batch_size = 16
repeat = 3
iterations_per_run = 50
timeout = 2.5
optimizer = 'torch.optim.SGD(params)'
memory_format = "channels_last"
)",
                       options);
  ASSERT_TRUE(applied) << applied.error()[0].what;
  EXPECT_EQ(options.plan.selection.filters, std::vector<std::string>{"matmul"});
  EXPECT_EQ(options.plan.selection.backends, std::vector<Backend>{Backend::kFrozen});
  EXPECT_EQ(options.plan.selection.autograds, std::vector<Autograd>{Autograd::kForward});
  EXPECT_EQ(options.plan.axes.data_types, std::vector<std::string>{"float64"});
  EXPECT_EQ(options.plan.axes.threads, std::vector<int>{4});
  EXPECT_EQ(options.plan.axes.batch_sizes, std::vector<int>{16});
  EXPECT_EQ(options.repetitions, 7);
  EXPECT_EQ(options.iterations_per_run, 50);
  EXPECT_EQ(options.timeout, 2.5);
  EXPECT_EQ(options.plan.axes.optimizer, "torch.optim.SGD(params)");
  EXPECT_EQ(options.plan.axes.memory_formats, std::vector<std::string>{"channels_last"});
  EXPECT_EQ(with_eager(options.plan.selection).backends,
            (std::vector<Backend>{Backend::kEager, Backend::kFrozen}));
}

TEST(ExperimentOptions, LeaveOutValuesOfAxesThatTheCommandLineDoesNotSet) {
  ExperimentOptions options;
  options.plan.axes.left_out = {{"backend", "tvm"}};
  auto applied = apply(R"(backend = ["frozen", "-fused"]
threads = [1, -2]
shapes = ["dynamic", "dynamic"]
)",
                       options);
  ASSERT_TRUE(applied) << applied.error()[0].what;
  EXPECT_TRUE(options.plan.selection.backends.empty());
  EXPECT_EQ(options.plan.axes.threads, std::vector<int>{1});
  EXPECT_EQ(options.plan.axes.shapes, std::vector<std::string>{"dynamic"});
  EXPECT_EQ(options.plan.axes.left_out,
            (std::vector<AxisValue>{{"backend", "tvm"}, {"threads", "2"}}));
}

TEST(ExperimentOptions, ErrorsHavePlaces) {
  ExperimentOptions options;
  auto applied = apply(
      "backend = [\"eager\", \"frosen\"]\nbatchsize = 1\ntest = \"evel\"\nrepeat = 1\n"
      "timeout = nan\nthreads = [0]\ndtype = \"-float23\"\noptimizer = \"SGD\"\n",
      options);
  ASSERT_FALSE(applied);
  std::string text;
  for (const Error& error : applied.error()) text += to_string(error) + "\n";
  EXPECT_GOLDEN("experiment/errors_of_its_file.txt", text);
  applied = apply("suite = \"0\"\n", options);  // the message lists the installed suites
  ASSERT_FALSE(applied);
  EXPECT_TRUE(to_string(applied.error()[0]).starts_with("e.toml:1:10: `0` is not a suite"));
  applied = apply("torchbench = \"none\"\n", options);  // the message has the whole path
  ASSERT_FALSE(applied);
  EXPECT_HAS(to_string(applied.error()[0]), "none: there is no folder torchbenchmark/models in it");
}

}  // namespace
}  // namespace instr::experiment_options_test
