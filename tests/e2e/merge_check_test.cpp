// `instr_bench merge-check`: the check of a branch before it is merged.
#include "tests/e2e/quick_library.h"

namespace instr::e2e::merge_check_test {
namespace {

class MergeCheck : public QuickRepositoryTest {
 protected:
  static SpawnOptions shell_in(const fs::path& folder, const std::string& script) {
    return {
        .argv = {"sh", "-c", script}, .environment = environment(), .working_directory = folder};
  }

  CommandResult merge_check(std::vector<std::string> words) {
    words.insert(words.begin(), "merge-check");
    auto result = run(words);
    EXPECT_FALSE(has(git(folder_.path(), {"worktree", "list"}), "detached"))
        << "a worktree is left";
    return result;
  }
};

TEST_F(MergeCheck, MeasuresTheBaseOnceAndAppliesItsLimits) {
  git(folder_.path(), {"checkout", "--quiet", "-b", "weaker"});
  write(file("gate limits/all.toml"),
        replaced(kLimits, "instructions = \"+0\"", "instructions = \"none\""));
  commit_slower_code();
  const std::vector<std::string> options{"main", "--definitions=quick.toml",
                                         "--limits=gate limits/all.toml"};
  auto with = [&](const std::string& first) {
    std::vector<std::string> words{first};
    words.insert(words.end(), options.begin(), options.end());
    return merge_check(words);
  };
  auto slower = expect_status(3, with("--report=a report.md"));
  EXPECT_HAS(slower.errors, "measuring the base");
  EXPECT_HAS(slower.output, "from +0 to none (+0 holds)");
  EXPECT_HAS(text_of(file("a report.md")), "slower, fails");
  const std::string accepting = slower.errors.substr(slower.errors.find("instr_bench accept "));
  const auto accepted =
      expect_status(0, value_of(run_command(shell_in(
                           folder_.path(), program_under_test() +
                                               accepting.substr(11, accepting.find('\n') - 11)))));
  expect_status(0, merge_check({"main", "--definitions=quick.toml", "--report=a report.md",
                                "--limits=gate limits/all.toml"}));
  EXPECT_HAS(text_of(file("a report.md")), "accepted");
  fs::remove(file(".instr_bench/accepted.csv"));
  auto again = expect_status(3, with("--head=weaker"));
  EXPECT_FALSE(has(again.errors, "measuring the base")) << again.errors;
  expect_status(0, with("--head=main"));
}

// Paths to the checked-out file mean the base's file at the base.
TEST_F(MergeCheck, MeasuresTheFilesOfTheBase) {
  git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
  commit_slower_code();
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(folder_.path(), elsewhere.path() / "link");
  const std::string outside = elsewhere.path() / "outside.toml";
  write(outside, replaced(replaced(text_of(file("quick.toml")), "\"quick.cpp\"",
                                   "\"" + file("quick.cpp").string() + "\""),
                          "[\".\"]", "[\"" + folder_.path().string() + "\"]"));
  const std::vector<std::vector<std::string>> ways{
      {"--definitions=" + file("quick.toml").string()},
      {"--definitions=" + (elsewhere.path() / "link/quick.toml").string()},
      {"--definitions=" + outside, "--filter=squares"}};
  for (std::vector<std::string> words : ways) {
    words.insert(words.begin(), "main");
    EXPECT_HAS(expect_status(3, merge_check(words)).output, "squares");
  }
  write_script(file("python"), "exec python3 \"$@\"\n");
  expect_status(2, merge_check({"main", "--definitions=quick.toml",
                                "--compiler=" + file("python").string()}));
}

TEST_F(MergeCheck, HasTheSubmodulesOfEachCommit) {
  const TemporaryFolder library;
  git(library.path(), {"init", "--quiet", "--initial-branch=main"});
  const auto commit_library = [&](int lines) {
    write(library.path() / "fast.h", "inline int fast(volatile int* x) { for (int i = 0; i < " +
                                         std::to_string(lines) + "; ++i) *x = i; return *x; }\n");
    git(library.path(), {"add", "fast.h"});
    git(library.path(), {"commit", "--quiet", "-m", "the header"});
  };
  commit_library(10);
  git(folder_.path(), {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
                       library.path().string(), "library"});
  write(file("quick.toml"),
        "schema = 1\n[build]\ninclude_dirs = [\"library\"]\n[[benchmark]]\n"
        "label = \"fast\"\nglobal_setup = '#include \"fast.h\"'\n"
        "setup = \"volatile int x = 0;\"\nstmt = \"fast(&x);\"\n");
  git(folder_.path(), {"add", "library"});
  commit("with a submodule");
  git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
  commit_library(1000);
  git(folder_.path() / "library", {"-c", "protocol.file.allow=always", "pull", "--quiet"});
  git(folder_.path(), {"add", "library"});
  commit("a slower library");
  EXPECT_HAS(expect_status(3, merge_check({"main", "--definitions=quick.toml"})).output, "fast");
}

TEST_F(MergeCheck, RefusesUnknownCommitsAndFailingBuilds) {
  for (const char* head : {"--head=-x", "--head=--output=x", "--head=gone"}) {
    expect_refused(merge_check({head, "main"}), "there is no commit");
  }
  for (const char* wrong : {"--head=", "--output=x"})
    EXPECT_EQ(merge_check({wrong, "main"}).exit_code, 2);
  expect_refused(merge_check({"main", "--baseline=x"}), "--baseline is not for merge-check");

  write(file("report.md"), "all within the limits");
  expect_refused(merge_check({"--report=report.md", "--make=echo half a build; false", "main"}),
                 "the build of the base failed");
  EXPECT_HAS(text_of(file("report.md")), "half a build");
  EXPECT_FALSE(has(text_of(file("report.md")), "all within the limits"));
}

// A worktree has no file that git ignores, and maybe pointers instead of files.
TEST_F(MergeCheck, NamesFilesThatTheBaseLacks) {
  write(file(".gitignore"), "model.txt\n");
  write(file("pointer.txt"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  write(file("quick.toml"), text_of(file("quick.toml")) + R"(
[[benchmark]]
label = "model"
global_setup = "#include <fstream>"
setup = 'char c; if (!std::ifstream("{./model.txt}").get(c)) throw std::runtime_error("no model");'
stmt = "auto y = torch::ones({4, 4});"
[[benchmark]]
label = "pointer"
global_setup = "#include <fstream>"
setup = 'char c; if (!std::ifstream("{./pointer.txt}").get(c) || c == 118) throw 1;'
stmt = "auto y = torch::ones({4, 4});"
)");
  git(folder_.path(), {"add", ".gitignore", "pointer.txt"});
  commit("models");
  write(file("model.txt"), "a model");
  write(file("pointer.txt"), "the file");
  for (const auto& [filter, why] :
       {std::pair{"model", "model.txt is in the checked-out tree, but not"},
        {"pointer", "pointer.txt is a pointer of Git LFS"}}) {
    const auto checked = expect_status(2, merge_check({"main", "--definitions=quick.toml",
                                                       "--filter=scaled|" + std::string(filter)}));
    EXPECT_HAS(checked.errors, why);
    EXPECT_FALSE(has(checked.output, "all within the limits")) << checked.output;
  }
}

// Some supervisors ignore SIGCHLD for what they start.
TEST_F(MergeCheck, KnowsTheStatusOfABuildWhateverItsCallerIgnores) {
  for (const char* command : {"false", "false | cat"}) {
    const auto failed =
        expect_status(2, value_of(run_command(shell_in(
                             folder_.path(), "trap '' CHLD; exec '" + program_under_test() +
                                                 "' merge-check main '--make=" + command + "'"))));
    EXPECT_HAS(failed.errors, "the build of the base failed (above): " + std::string(command));
  }
}

TEST_F(MergeCheck, InterruptedLeavesNeitherWorktreeNorBaseline) {
  expect_status(130, merge_check({"--make=kill -TERM $PPID; sleep 60", "main"}));
  EXPECT_FALSE(fs::exists(file(".instr_bench")));
}

}  // namespace
}  // namespace instr::e2e::merge_check_test
