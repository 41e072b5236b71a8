// instr_bench.Timer in an interpreter: it counts what definitions count, and leaves nothing behind.
#include <fmt/format.h>
#include <signal.h>

#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::timer_test {
namespace {

const RunsUnder kNewest("newest", "TimerInPython.*");

class TimerInPython : public PythonTest {
 protected:
  // Runs the fixture's script, and returns its exit status and what it printed.
  static CommandResult run_script(const std::vector<std::string>& arguments) {
    const fs::path torch = getenv("TORCH_DIR");
    SpawnOptions options = command({});
    options.argv = {
        (torch.parent_path().parent_path().parent_path().parent_path() / "bin/python").string(),
        "-W", "ignore", fixture("timer.py").string()};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.environment->push_back(std::string("PYTHONPATH=") + INSTR_SOURCE_DIR + "/python");
    options.environment->push_back("PATH=" + fs::path(program_under_test()).parent_path().string() +
                                   ":" + getenv("PATH"));
    std::erase_if(*options.environment, [](const std::string& variable) {
      return variable == std::string("PATH=") + getenv("PATH");
    });
    return value_of(run_command(options));
  }
};

constexpr const char* kTwins = R"toml(schema = 1
[[benchmark]]
label = "plain"
py_setup = "x = torch.ones((4, 4))"
py_stmt = "x + x"
[[benchmark]]
label = "tensors"
py_global_setup = "y = torch.ones((4, 4)); n = 3"
py_setup = "x = torch.ones((4, 4))"
py_stmt = "x * y + n"
[[benchmark]]
label = "module"
py_global_setup = "m = torch.nn.Linear(8, 4)"
py_setup = "x = torch.ones((2, 8))"
py_stmt = "m(x)"
[[benchmark]]
label = "cpp"
global_setup = "inline torch::Tensor twice(const torch::Tensor& x) { return x + x; }"
setup = "auto x = torch::ones({4, 4});"
stmt = "auto y = twice(x);"
)toml";

TEST_F(TimerInPython, CountsWhatDefinitionsCountAndEndsWithTheInterpreter) {
  const CommandResult ended = run_script({"crash"});
  ASSERT_EQ(ended.exit_code, 128 + SIGABRT) << ended.errors;
  EXPECT_TRUE(stray_processes().empty());
  const auto said = nlohmann::json::parse(ended.output);

  write("all.toml", kTwins);
  for (const auto& [key, twin] : counted()) {
    const std::string label = twin.at("label");
    EXPECT_EQ(said["counts"][label], twin["metrics"]["instructions"]) << key;
    EXPECT_EQ(said["sums"][label], said["counts"][label]) << key;
  }
  EXPECT_EQ(said["denoised"], said["counts"]["plain"]);
  EXPECT_EQ(said["baseline"], 0);
  EXPECT_EQ(said["delta"][0], said["delta"][1]);
  EXPECT_EQ(said["repeats"][0], said["counts"]["plain"]);
  EXPECT_EQ(said["repeats"][1], said["counts"]["plain"]);
  EXPECT_EQ(said["standardized"], true);
  EXPECT_EQ(said["inclusive"], true);
  EXPECT_EQ(said["out"], "# callgri");
  EXPECT_EQ(said["left"], nlohmann::json::array());
  EXPECT_HAS(said["repr"].get<std::string>(), "Instructions: ");
  EXPECT_HAS(said["repr"].get<std::string>(), "2 runs per measurement, 1 thread");
  EXPECT_HAS(said["compare"].get<std::string>(),
             fmt::format("|  {:.1f}", said["counts"]["plain"].get<double>()));
  EXPECT_EQ(said["raises"], "CountError: stmt:1:1: ZeroDivisionError: division by zero");
  EXPECT_HAS(said["lambda"].get<std::string>(), "ValueError: the global `f` cannot be pickled");
  EXPECT_HAS(said["unsteady"].get<std::string>(), "not steady");

  // A file with the timer's definition has the same count.
  write("all.toml", said["definition"]);
  const Records same = counted();
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same.begin()->second["metrics"]["instructions"], said["counts"]["plain"]);
}

}  // namespace
}  // namespace instr::e2e::timer_test
