// Commits of a library in Python: no module comes from the checked-out tree while another commit is
// measured, and a module that is not of the commit is named.
#include "tests/e2e/python_fixture.h"
#include "tests/e2e/quick_library.h"

namespace instr::e2e::python_commits_test {
namespace {

class PythonCommits : public PythonTest {
 protected:
  void SetUp() override {
    PythonTest::SetUp();
    if (IsSkipped()) return;
    git(folder_.path(), {"init", "--quiet", "--initial-branch=main"});
    fs::create_directory(folder_.path() / "src");
    write("bench.toml", R"TOML(schema = 1
[[benchmark]]
label = "installed"
py_global_setup = "import quickly"
py_stmt = "quickly.work()"
[[benchmark]]
label = "absolute"
py_global_setup = """
import sys
sys.path.insert(0, "FOLDER/src")
import quickly
"""
py_stmt = "quickly.work()"
)TOML");
    commit(10);
    git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
    commit(40);
  }

  void commit(int loops) {
    write("src/quickly.py",
          "def work():\n    for i in range(" + std::to_string(loops) + "):\n        pass\n");
    git(folder_.path(), {"add", "src", "bench.toml"});
    git(folder_.path(), {"commit", "--quiet", "-m", "a library"});
  }

  // Runs the program with src/ on the module path, as for an editable installation.
  CommandResult run(std::vector<std::string> words) const {
    SpawnOptions options = command(std::move(words));
    options.working_directory = folder_.path();
    options.environment->push_back("PYTHONPATH=" + (folder_.path() / "src").string());
    return value_of(run_command(options));
  }
};

TEST_F(PythonCommits, ModulesAreThoseOfTheMeasuredCommit) {
  const auto checked = expect_status(
      3, run({"merge-check", "main", "--definitions=bench.toml", "--filter=installed"}));
  const auto refused = expect_status(
      2, run({"merge-check", "main", "--definitions=bench.toml", "--filter=absolute"}));
  EXPECT_HAS(refused.output + refused.errors, "src/quickly.py");
  EXPECT_HAS(refused.output + refused.errors, "is in the checked-out tree");
}

TEST_F(PythonCommits, TimesOfTheCheckedOutTreeAreNotThoseOfAnotherCommit) {
  const auto refused =
      expect_status(2, run({"merge-check", "main", "--definitions=bench.toml", "--metrics=wall",
                            "--repetitions=2", "--filter=absolute"}));
  EXPECT_HAS(refused.output + refused.errors, "src/quickly.py");
}

TEST_F(PythonCommits, ModulesThatAreNotOfTheCommitAreNamed) {
  git(folder_.path(), {"update-index", "--assume-unchanged", "src/quickly.py"});
  write("src/quickly.py", "def work():\n    pass\n");
  expect_refused(run({"--definitions=bench.toml", "--filter=installed", "--record"}),
                 "src/quickly.py differs from the commit");
}

}  // namespace
}  // namespace instr::e2e::python_commits_test
