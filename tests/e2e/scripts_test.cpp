// The scripts that CI, hooks and clusters run: tools/merge-comment and those of docs/ci, on a git
// repository of the small library.
#include "tests/e2e/quick_library.h"

namespace instr::e2e::scripts_test {
namespace {

std::string source_file(const std::string& name) { return INSTR_SOURCE_DIR "/" + name; }

class Scripts : public QuickRepositoryTest {
 protected:
  // Runs a script in the repository, with these variables ("NAME=value").
  CommandResult run(std::vector<std::string> variables, const std::vector<std::string>& words) {
    SpawnOptions options;
    options.argv = {"env"};
    options.argv.insert(options.argv.end(), variables.begin(), variables.end());
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = environment();
    options.working_directory = folder_.path();
    return value_of(run_command(options));
  }
};

// tools/merge-comment in a job of GitHub, with a `curl` that keeps its input.
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
    expect_status(0, run({"PATH=" + file("bin").string() + ":" + getenv("PATH"), "GITLAB_CI=",
                          "GITHUB_API_URL=https://api", "GITHUB_REPOSITORY=team/project",
                          "GITHUB_REF_NAME=7/merge", "GITHUB_SERVER_URL=https://github.example",
                          "GITHUB_RUN_ID=99", "GITHUB_TOKEN=a-token"},
                         command));
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

// Or each push would add another one.
TEST_F(Comments, AreNotAddedIfTheOthersCannotBeRead) {
  write(file("report.md"), "a table\n");
  fs::remove(file("existing.json"));
  fs::remove(file("posted.json"));
  const auto result =
      run({"PATH=" + file("bin").string() + ":" + getenv("PATH"),
           "GITLAB_CI=", "GITHUB_API_URL=https://api", "GITHUB_REPOSITORY=team/project",
           "GITHUB_REF_NAME=7/merge", "GITHUB_SERVER_URL=https://github.example",
           "GITHUB_RUN_ID=99", "GITHUB_TOKEN=a-token"},
          {source_file("tools/merge-comment"), "report.md"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_FALSE(fs::exists(file("posted.json")));
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

TEST_F(Scripts, TheHookRefusesCommitsThatFailTheCheck) {
  git(folder_.path(), {"init", "--quiet", "--bare", "origin.git"});
  git(folder_.path(), {"remote", "add", "origin", "origin.git"});
  git(folder_.path(), {"push", "--quiet", "origin", "main"});
  git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
  const std::string slower = commit_slower_code();
  git(folder_.path(), {"checkout", "--quiet", "main"});
  fs::copy_file(source_file("docs/ci/pre-push"), file(".git/hooks/pre-push"));
  write_script(file("bench"),
               "[ \"$1 $2 $3\" != 'merge-check --head=" + slower + " origin/main' ] || exit 3\n");
  auto push = [&](const std::string& what) {
    return run({"INSTR_BENCH=" + file("bench").string()}, {"git", "push", "origin", what});
  };
  EXPECT_HAS(expect_status(1, push("slower:reviewed")).errors,
             "is not pushed (merge-check: status 3)");
  expect_status(0, push("main:reviewed"));
  expect_status(0, push(":reviewed"));
}

// The steps of action.yml after the installation, whose environment is a folder with the program.
TEST_F(Scripts, TheActionMeasuresAPushAndChecksAPullRequest) {
  const fs::path bin = file("runner/instr_bench/bin");
  fs::create_directories(bin);
  fs::create_symlink(program_under_test(), bin / "instr_bench");
  auto check = [&](const std::string& event) {
    return run({"RUNNER_TEMP=" + file("runner").string(), "GITHUB_EVENT_NAME=" + event,
                "GITHUB_OUTPUT=" + file(event + ".outputs").string(),
                "GITHUB_STEP_SUMMARY=" + file(event + ".summary").string(), "BASE=main",
                "BUILD=true", "DEFINITIONS=quick.toml", "LIMIT=instructions=+0", "FILTER=squares",
                "OPTIONS=--metrics=instructions"},
               {source_file("tools/action"), "check"});
  };
  expect_status(0, check("push"));
  EXPECT_HAS(text_of(file("push.outputs")), "status=0\n");
  git(folder_.path(), {"checkout", "--quiet", "-b", "slower"});
  commit_slower_code();
  const auto refused = expect_status(3, check("pull_request"));
  EXPECT_FALSE(has(refused.errors, "measuring the base")) << refused.errors;
  EXPECT_HAS(text_of(file("pull_request.outputs")),
             "status=3\nreport=" + file("report.md").string() + "\n");
  EXPECT_HAS(text_of(file("pull_request.summary")), "slower, fails");
}

TEST_F(Scripts, TheActionFindsNoBaseInAShallowClone) {
  git(folder_.path(), {"checkout", "--quiet", "-b", "change"});
  commit_slower_code();
  git(folder_.path(), {"checkout", "--quiet", "main"});
  write(file("quick.h"), std::string(kHeader) + "// one\n");
  commit("a comment");
  const auto find_base = [&](const std::string& clone, const std::string& depth) {
    git(folder_.path(), {"clone", "--quiet", "--branch=change", "--no-single-branch", depth,
                         "file://" + folder_.path().string(), file(clone).string()});
    return run({"RUNNER_TEMP=/nonexistent", "GITHUB_OUTPUT=" + file(clone + ".outputs").string(),
                "GITHUB_BASE_REF=main", "BASE="},
               {"sh", "-c", "cd " + clone + " && '" + source_file("tools/action") + "' base"});
  };
  expect_refused(find_base("shallow", "--depth=1"), "fetch-depth: 0");
  EXPECT_FALSE(fs::exists(file("shallow.outputs")));
  expect_status(0, find_base("whole", "--depth=1000"));
  EXPECT_EQ(text_of(file("whole.outputs")), "base=" + git(folder_.path(), {"rev-parse", "main~1"}));
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
