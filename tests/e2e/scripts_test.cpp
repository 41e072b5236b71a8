// The scripts that CI, hooks and clusters run: tools/merge-check, merge-comment and nightly, and
// those of docs/ci, on a git repository of the small library.
#include "tests/e2e/quick_library.h"
#include "tests/e2e/tested_program.h"

namespace instr::e2e::scripts_test {
namespace {

constexpr const char* kLimits = R"([[limit]]
keys = "."
hard = { instructions = "+0", allocs = "+0", alloc_bytes = "+0", peak_bytes = "+0" }
)";

std::string source_file(const std::string& name) { return INSTR_SOURCE_DIR "/" + name; }

void write_script(const fs::path& file, const std::string& text) {
  write(file, "#!/usr/bin/env bash\n" + text);
  fs::permissions(file, fs::perms::owner_all);
}

class Scripts : public QuickLibraryTest {
 protected:
  void SetUp() override {
    git(folder_.path(), {"init", "--quiet", "--initial-branch=main"});
    fs::create_directory(file("gate limits"));
    write(file("gate limits/all.toml"), kLimits);
    commit("the library");
  }

  // Commits all changes; returns the commit's name.
  std::string commit(const std::string& subject) {
    git(folder_.path(), {"add", "gate limits", "quick.h", "quick.cpp", "quick.toml"});
    git(folder_.path(), {"commit", "--quiet", "-m", subject});
    const std::string name = git(folder_.path(), {"rev-parse", "HEAD"});
    return name.substr(0, name.find('\n'));
  }

  std::string commit_slower_code() {
    write_slower_code();
    return commit("fewer lines");
  }

  // Runs a script in the repository, with these variables ("NAME=value") and INSTR_BENCH.
  CommandResult run(std::vector<std::string> variables, const std::vector<std::string>& words) {
    SpawnOptions options;
    options.argv = {"env", "INSTR_BENCH=" + program_under_test()};
    options.argv.insert(options.argv.end(), variables.begin(), variables.end());
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = environment();
    options.working_directory = folder_.path();
    return value_of(run_command(options));
  }

  CommandResult merge_check(std::vector<std::string> words) {
    words.insert(words.begin(), source_file("tools/merge-check"));
    auto result = run({}, words);
    EXPECT_FALSE(has(git(folder_.path(), {"worktree", "list"}), "detached"))
        << "a worktree is left";
    return result;
  }
};

TEST_F(Scripts, MergeCheckMeasuresTheBaseOnceAndAppliesItsLimits) {
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
  auto slower = with("--report=a report.md");
  EXPECT_EQ(slower.exit_code, 3) << slower.output << slower.errors;
  EXPECT_HAS(slower.errors, "measuring the base");
  EXPECT_HAS(slower.output, "from +0 to none (+0 holds)");
  EXPECT_HAS(text_of(file("a report.md")), "slower, fails");
  auto again = with("--head=weaker");
  EXPECT_EQ(again.exit_code, 3) << again.output << again.errors;
  EXPECT_FALSE(has(again.errors, "measuring the base")) << again.errors;
  auto same = with("--head=main");
  EXPECT_EQ(same.exit_code, 0) << same.output << same.errors;
}

// Each of these names the checked-out file, and means the base's at the base.
TEST_F(Scripts, MergeCheckMeasuresTheBaseWhereverAPathLeads) {
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
    const auto checked = merge_check(words);
    EXPECT_EQ(checked.exit_code, 3) << words[1] << checked.output << checked.errors;
    EXPECT_HAS(checked.output, "squares");
  }
  write_script(file("python"), "exec python3 \"$@\"\n");
  const auto refused =
      merge_check({"main", "--definitions=quick.toml", "--compiler=" + file("python").string()});
  EXPECT_EQ(refused.exit_code, 2) << refused.output << refused.errors;
}

TEST_F(Scripts, MergeCheckHasTheSubmodulesOfEachCommit) {
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
  const auto checked = merge_check({"main", "--definitions=quick.toml"});
  EXPECT_EQ(checked.exit_code, 3) << checked.output << checked.errors;
  EXPECT_HAS(checked.output, "fast");
}

TEST_F(Scripts, MergeCheckRefusesWhatIsNoCommitOrCannotBeBuilt) {
  const std::vector<std::vector<std::string>> wrong{{"--head=-x", "main"},
                                                    {"--head=", "main"},
                                                    {"--head=--output=x", "main"},
                                                    {"--", "--output=x"}};
  for (const auto& words : wrong) {
    auto refused = merge_check(words);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_HAS(refused.errors, "is not a commit here");
  }
  auto baseline = merge_check({"main", "--baseline=x"});
  EXPECT_EQ(baseline.exit_code, 2);
  EXPECT_HAS(baseline.errors, "--baseline is not for merge-check");

  write(file("report.md"), "all within the limits");
  auto broken = merge_check({"--report=report.md", "--make=echo half a build; false", "main"});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_HAS(broken.errors, "the build of the base failed");
  EXPECT_HAS(text_of(file("report.md")), "half a build");
  EXPECT_FALSE(has(text_of(file("report.md")), "all within the limits"));
}

TEST_F(Scripts, MergeCheckInterruptedLeavesNeitherWorktreeNorBaseline) {
  auto interrupted = merge_check({"--make=kill -TERM $PPID; sleep 60", "main"});
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.errors;
  EXPECT_FALSE(fs::exists(file(".instr_bench")));
}

TEST_F(Scripts, NightlyWritesAnIssueThatNamesTheCommit) {
  auto night = [&] {
    return run({}, {source_file("tools/nightly"), "main", "--definitions=quick.toml"});
  };
  auto first = night();
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));

  write(file("quick.h"), std::string(kHeader) + "// one\n");
  commit("a comment");
  const std::string slower = commit_slower_code();
  write(file("quick.h"), std::string(kHeader) + "// two\n");
  commit("another comment");
  auto second = night();
  EXPECT_EQ(second.exit_code, 3) << second.errors;
  const std::string issue = text_of(file("nightly/issue.md"));
  const std::string title = issue.substr(0, issue.find('\n'));
  EXPECT_HAS(title, "instructions in squares/eager/forward/t1/cpu");
  EXPECT_HAS(title, slower.substr(0, 12) + " (fewer lines)");
  EXPECT_HAS(issue, "<code>quick&#58;&#58;squares(");
  EXPECT_HAS(text_of(file("nightly/index.html")), slower.substr(0, 12));

  auto third = night();
  EXPECT_EQ(third.exit_code, 0) << third.errors;
  EXPECT_HAS(third.errors, "no commit since the last time");
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));
}

// tools/merge-comment in a job of GitHub, with a `curl` that keeps what it is given.
class Comments : public Scripts {
 protected:
  void SetUp() override {
    Scripts::SetUp();
    fs::create_directory(file("bin"));
    write_script(file("bin/curl"), R"(case " $* " in
  *' --data '*) printf '%s\n' "$@" >posted.arguments; cat >posted.json ;;
  *) cat existing.json ;;
esac
)");
    write(file("existing.json"), "[]");
  }

  // Returns what was posted.
  nlohmann::json post(const std::vector<std::string>& words) {
    std::vector<std::string> command{source_file("tools/merge-comment")};
    command.insert(command.end(), words.begin(), words.end());
    auto result = run({"PATH=" + file("bin").string() + ":" + getenv("PATH"),
                       "GITLAB_CI=", "GITHUB_API_URL=https://api", "GITHUB_REPOSITORY=team/project",
                       "GITHUB_REF_NAME=7/merge", "GITHUB_SERVER_URL=https://github.example",
                       "GITHUB_RUN_ID=99", "GITHUB_TOKEN=a-token"},
                      command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_FALSE(has(arguments(), "a-token")) << arguments();
    return nlohmann::json::parse(text_of(file("posted.json")));
  }

  std::string arguments() const { return text_of(file("posted.arguments")); }
};

TEST_F(Comments, AreReplaced) {
  write(file("report.md"), "a table\n");
  const std::string text = post({"report.md"}).at("body");
  EXPECT_HAS(text, "a table");
  EXPECT_HAS(text, "https://github.example/team/project/actions/runs/99");
  EXPECT_HAS(arguments(), "https://api/repos/team/project/issues/7/comments\n");

  write(file("existing.json"),
        nlohmann::json{{{"id", 4}, {"body", "a remark"}}, {{"id", 5}, {"body", text}}}.dump());
  post({"report.md"});
  EXPECT_HAS(arguments(), "PATCH\n");
  EXPECT_HAS(arguments(), "https://api/repos/team/project/issues/comments/5\n");
}

TEST_F(Comments, ExposeNoOtherFileAndAreNotTooLong) {
  write(file("secret"), "a secret\n");
  fs::create_symlink("secret", file("link.md"));
  for (const char* report : {"missing.md", "link.md"}) {
    const std::string text = post({report}).at("body");
    EXPECT_HAS(text, "the check could not be made");
    EXPECT_FALSE(has(text, "a secret")) << text;
  }
  std::string rows;
  for (int i = 0; i != 20000; ++i) rows += "| a row |\n";
  write(file("long.md"), rows);
  const std::string text = post({"long.md"}).at("body");
  EXPECT_HAS(text, "The log has all of it");
  EXPECT_LT(text.size(), 65536u);
}

TEST_F(Comments, OfANightAreIssues) {
  write(file("issue.md"), "a title\n\nand a text\n");
  const auto issue = post({"--issue", "issue.md"});
  EXPECT_EQ(issue.at("title"), "a title");
  EXPECT_HAS(issue.at("body"), "and a text") << issue;
  EXPECT_HAS(arguments(), "https://api/repos/team/project/issues\n");
}

TEST_F(Scripts, TheHookRefusesTheCommitsThatTheCheckRefuses) {
  git(folder_.path(), {"init", "--quiet", "--bare", "origin.git"});
  git(folder_.path(), {"remote", "add", "origin", "origin.git"});
  git(folder_.path(), {"push", "--quiet", "origin", "main"});
  git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
  const std::string slower = commit_slower_code();
  git(folder_.path(), {"checkout", "--quiet", "main"});
  fs::copy_file(source_file("docs/ci/pre-push"), file(".git/hooks/pre-push"));
  write_script(file("check"),
               "[ \"$1 $2 $3\" != 'merge-check --head=" + slower + " origin/main' ] || exit 3\n");
  auto push = [&](const std::string& what) {
    return run({"INSTR_BENCH=" + file("check").string()}, {"git", "push", "origin", what});
  };
  auto refused = push("slower:reviewed");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_HAS(refused.errors, "is not pushed (merge-check: status 3)");
  auto pushed = push("main:reviewed");
  EXPECT_EQ(pushed.exit_code, 0) << pushed.errors;
  auto deleted = push(":reviewed");
  EXPECT_EQ(deleted.exit_code, 0) << deleted.errors;
}

TEST_F(Scripts, EachTaskOfASlurmArrayMeasuresItsShard) {
  auto task = [&](std::vector<std::string> variables) {
    for (const char* more : {"INSTR_BENCH=echo", "SLURM_CPUS_PER_TASK=2", "SLURM_ARRAY_TASK_ID=3",
                             "SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_MAX=4"})
      variables.emplace_back(more);
    return run(variables, {source_file("docs/ci/slurm-array.sh"), "--definitions=quick.toml"});
  };
  EXPECT_EQ(task({"SLURM_ARRAY_TASK_COUNT=4"}).output,
            "--definitions=quick.toml --jobs=2 --shard=3/4 --output=12-3.jsonl\n");
  EXPECT_EQ(task({"SLURM_ARRAY_TASK_COUNT=1"}).exit_code, 2);
  EXPECT_EQ(task({"SLURM_ARRAY_TASK_COUNT=1", "SHARDS=4", "RUN=11"}).output,
            "--definitions=quick.toml --jobs=2 --shard=3/4 --output=11-3.jsonl\n");
}

}  // namespace
}  // namespace instr::e2e::scripts_test
