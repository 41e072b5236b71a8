// The history of a real repository whose commits are measured and recorded.
#include <fcntl.h>
#include <sys/ioctl.h>

#include "core/base/git.h"
#include "core/history/schema.h"
#include "core/results/results_file.h"
#include "tests/e2e/quick_library.h"

namespace instr::e2e::history_test {
namespace {

class HistoryOfALibrary : public QuickRepositoryTest {
 protected:
  void SetUp() override {
    QuickRepositoryTest::SetUp();
    write(file("quick.cpp"), std::string(kSource) + "// more clearly\n");
    commit("a comment");
    commit_slower_code();
  }

  void git(std::vector<std::string> words) { e2e::git(folder_.path(), std::move(words)); }

  std::vector<nlohmann::json> steps() {
    auto shown = expect_status(0, run({"history", "steps", "--format=jsonl"}));
    std::vector<nlohmann::json> steps;
    for (const std::string& line : split_lines(shown.output))
      steps.push_back(nlohmann::json::parse(line));
    return steps;
  }
};

TEST_F(HistoryOfALibrary, HasOneStepAtTheCommitThatMadeItSlower) {
  auto last =
      expect_status(0, run({"--definitions=quick.toml", "--record", "--output=last.jsonl"}));
  EXPECT_HAS(last.errors, "commit ");
  git({"checkout", "--quiet", "HEAD~2"});
  expect_refused(run({"--definitions=quick.toml", "--record"}), "--branch");
  expect_status(0, run({"--definitions=quick.toml", "--record", "--branch=main"}));
  auto found = steps();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].at("subject"), "fewer lines");

  // A commit measured later narrows the step down.
  git({"checkout", "--quiet", "main~1"});
  expect_status(0, run({"--definitions=quick.toml", "--record", "--branch=main"}));
  found = steps();
  for (const auto& step : found) {
    EXPECT_EQ(step.at("key"), "squares/eager/forward/t1/cpu");
    EXPECT_EQ(step.at("subject"), "fewer lines");
  }
  EXPECT_EQ(found.at(0).at("metric"), "instructions");
  EXPECT_GT(found.at(0).at("change"), 0);
  EXPECT_EQ(found.at(0).at("attribution").at("difference"), found.at(0).at("change"));
  EXPECT_HAS(expect_status(3, run({"history", "issue"})).output,
             " && instr_bench --definitions=quick.toml --filter=squares/");

  git({"checkout", "--quiet", "main"});
  EXPECT_HAS(expect_status(0, run({"history", "add", "last.jsonl"})).errors,
             "1 run recorded before");
  expect_refused(run({"history", "add", "last.jsonl", "--commit=HEAD~1", "--trust-commit"}),
                 "recorded with other counts");
  EXPECT_HAS(expect_status(0, run({"history", "show", "squares/eager/forward/t1/cpu",
                                   "--metrics=instructions"}))
                 .output,
             "malloc");
}

TEST_F(HistoryOfALibrary, IsFilledByBisection) {
  for (const char* line : {"// one\n", "// two\n"}) {
    write(file("quick.h"), std::string(kHeader) + line);
    commit(line);
  }
  const std::vector<std::string> words{
      "history", "backfill", "main~4..main", "--bisect", "--",
      // A path to the checked-out file means the file of each commit.
      "--definitions=" + file("quick.toml").string(), "--filter=squares"};
  EXPECT_HAS(expect_status(0, run(words)).errors,
             "4 commits measured, 0 there already, 0 could not be");
  const auto found = steps();
  ASSERT_FALSE(found.empty());
  for (const auto& step : found) EXPECT_EQ(step.at("subject"), "fewer lines");
  EXPECT_HAS(run({"history", "issue"}).output, "instr_bench --definitions=quick.toml --filter=");
  EXPECT_HAS(expect_status(0, run(words)).errors, "0 commits measured, 2 there already");

  auto accepted =
      expect_status(0, run({"accept", "squares/eager/forward/t1/cpu", "--reason=it is shorter"}));
  const std::string line = split_lines(text_of(file(".instr_bench/accepted.csv"))).at(1);
  EXPECT_TRUE(line.starts_with("squares/eager/forward/t1/cpu,instructions,")) << line;
  EXPECT_HAS(line, found[0].at("commit").get<std::string>().substr(0, 12));
}

TEST_F(HistoryOfALibrary, AFailureIsReportedByEachCall) {
  write(file("quick.toml"),
        text_of(file("quick.toml")) + "\n[[benchmark]]\nlabel = \"broken\"\nstmt = \"throw 1;\"\n");
  commit("a broken benchmark");
  const std::vector<std::string> words{"history",
                                       "backfill",
                                       "main~0..main",
                                       "--",
                                       "--definitions=quick.toml",
                                       "--filter=broken|squares"};
  const auto filled = expect_status(1, run(words));
  EXPECT_HAS(filled.errors,
             "1 commit measured, 0 there already, 0 could not be; in 1 of them benchmarks failed");
  const auto again = expect_status(1, run(words));
  EXPECT_HAS(again.errors,
             "0 commits measured, 1 there already, 0 could not be; in 1 of them benchmarks failed");
}

TEST_F(HistoryOfALibrary, ResultsHaveTheirCommit) {
  const auto measured = [this](const std::string& output) {
    expect_status(0, run({"--definitions=quick.toml", "--filter=scaled", "--output=" + output}));
    const std::string header = split_lines(text_of(file(output))).at(0);
    return nlohmann::json::parse(header).value("commit", "none");
  };
  const std::string hash = measured("last.jsonl");
  EXPECT_EQ(hash.size(), 40u) << hash;
  write(file("quick.h"), std::string(kHeader) + "// other\n");
  EXPECT_EQ(measured("changed.jsonl"), "none");
  git({"checkout", "--quiet", "HEAD~1", "--force"});
  write(file("outside.toml"),
        "schema = 1\n[[benchmark]]\nlabel = \"ones\"\nstmt = \"torch::ones({4});\"\n");
  EXPECT_EQ(run({"--definitions=outside.toml", "--output=outside.jsonl"}).exit_code, 0);
  const std::string header = split_lines(text_of(file("outside.jsonl"))).at(0);
  EXPECT_FALSE(nlohmann::json::parse(header).contains("commit")) << header;

  EXPECT_HAS(
      expect_status(2, run({"history", "add", "last.jsonl", "--branch=main", "--commit=HEAD"}))
          .errors,
      "last.jsonl: these results are of commit " + hash.substr(0, 12));
  EXPECT_FALSE(fs::exists(file(".instr_bench/history.db")));
  EXPECT_HAS(expect_status(0, run({"history", "add", "last.jsonl", "--branch=main"})).errors,
             "commit " + hash.substr(0, 12) + " on main");
  auto trusted = expect_status(
      0, run({"history", "add", "last.jsonl", "--branch=main", "--commit=HEAD", "--trust-commit"}));
  EXPECT_FALSE(has(trusted.errors, hash.substr(0, 12))) << trusted.errors;

  // After the branch is rewritten, a clone no longer has the commit.
  git({"checkout", "--quiet", "main"});
  git({"commit", "--quiet", "--amend", "-m", "fewer lines, said better"});
  git({"clone", "--quiet", "--no-local", folder_.path().string(), file("clone").string()});
  auto rewritten = expect_status(2, run_in(file("clone"), {"history", "add", "../last.jsonl"}));
  EXPECT_HAS(rewritten.errors, hash.substr(0, 12) + ", which is not here");
  EXPECT_HAS(rewritten.errors, "--commit");
}

// `git status` shows no ignored file, and none that is assumed to be unchanged.
TEST_F(HistoryOfALibrary, FilesThatAreNotOfTheCommitAreNamed) {
  write(file(".gitignore"), "local.h\n");
  git({"add", ".gitignore"});
  write(file("quick.h"), std::string(kHeader) +
                             "#if __has_include(\"local.h\")\n"
                             "#include \"local.h\"\n#endif\n");
  commit("a local header");
  write(file("local.h"), "");
  const std::vector<std::string> words{"--definitions=quick.toml", "--filter=squares"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run(more);
  };
  EXPECT_HAS(expect_status(0, with({"--output=local.jsonl"})).errors, "local.h is ignored by git");
  expect_refused(run({"history", "add", "local.jsonl"}), "local.h is ignored by git");
  expect_refused(with({"--record"}), "local.h is ignored by git");
  EXPECT_FALSE(fs::exists(file(".instr_bench/history.db")));
  EXPECT_EQ(run({"history", "add", "local.jsonl", "--trust-commit"}).exit_code, 0);

  fs::remove(file("local.h"));
  git({"update-index", "--assume-unchanged", "quick.cpp"});
  write(file("quick.cpp"), std::string(kSource) + "// not committed\n");
  expect_refused(with({"--record"}), "quick.cpp differs from the commit");
  git({"update-index", "--no-assume-unchanged", "quick.cpp"});
  git({"checkout", "--quiet", "quick.cpp"});
  expect_status(0, with({"--record", "--history=clean.db"}));
}

// A source that is not in the commit of the definitions may differ from it.
TEST_F(HistoryOfALibrary, ResultsOfOtherSourcesHaveNoCommit) {
  const TemporaryFolder elsewhere;
  write_quick_library(elsewhere.path());
  write(file("quick.toml"), replaced(text_of(file("quick.toml")), "\"quick.cpp\"",
                                     "\"" + (elsewhere.path() / "quick.cpp").string() + "\""));
  commit("another source");
  expect_status(0, run({"--definitions=quick.toml", "--filter=scaled", "--output=a.jsonl"}));
  const std::string header = split_lines(text_of(file("a.jsonl"))).at(0);
  EXPECT_FALSE(nlohmann::json::parse(header).contains("commit")) << header;
}

TEST_F(HistoryOfALibrary, AcceptedStepsPassTheCheck) {
  const fs::path fixtures = testing::fixture("formats");
  const std::string before = (fixtures / "before.jsonl").string();
  const std::string after = (fixtures / "after.jsonl").string();
  const auto compared = [&] { return run({"compare", before, after, "--filter=pointwise"}); };
  EXPECT_EQ(compared().exit_code, 3);
  auto accept = [&](const char* key) {
    return run(
        {"accept", key, "--reason=twice is better", "--base=" + before, "--results=" + after});
  };
  ASSERT_EQ(accept("pointwise/add/n=4/eager/forward/t1/cpu").exit_code, 0);
  EXPECT_EQ(compared().exit_code, 3);  // the other one is not accepted
  ASSERT_EQ(accept("pointwise/add/n=64/eager/forward/t1/cpu").exit_code, 0);
  const auto passes = expect_status(0, compared());
  EXPECT_HAS(passes.output, "slower, accepted");
  EXPECT_HAS(passes.output, "accepted: twice is better");
  EXPECT_EQ(accept("matmul/mm/eager/forward/t1/cpu").exit_code, 2);  // it did not change
}

TEST_F(HistoryOfALibrary, RecordsNothingWithUncommittedChanges) {
  write(file("quick.cpp"), kSource);
  expect_refused(run({"--definitions=quick.toml", "--record"}), "not committed");
  EXPECT_FALSE(fs::exists(file(".instr_bench")));
}

// Results with a wall time of each key, newer than any commit of these tests.
std::string times_of(const std::vector<std::string>& keys) {
  std::string text = R"({"schema":3,"version":"0.1.0","started":"2099-01-01T00:00:00Z",)"
                     R"("fingerprint":{"libtorch_version":"1.13.0"}})";
  for (const std::string& key : keys) {
    text += "\n" + to_line({{"key", key}, {"outcome", "timed"}, {"metrics", {{"wall", 2000}}}});
  }
  return text + "\n" + end_line(keys.size()) + "\n";
}

TEST_F(HistoryOfALibrary, NothingJudgedIsNotWithinTheLimits) {
  write(file("old.jsonl"), replaced(times_of({"a"}), "2099", "2000"));
  expect_refused(run({"history", "add", "old.jsonl"}), "before commit");
  EXPECT_FALSE(fs::exists(file(".instr_bench/history.db")));
  EXPECT_EQ(run({"history", "issue"}).exit_code, 2);
  write(file("times.jsonl"), times_of({"a"}));
  ASSERT_EQ(run({"history", "add", "times.jsonl"}).exit_code, 0);
  for (const char* since : {"--since=HEAD", "--since=HEAD~1"}) {
    const auto judged = expect_status(2, run({"history", "issue", since}));
    EXPECT_HAS(judged.errors, "nothing was judged");
  }
  write(file("quick.h"), std::string(kHeader) + "// other\n");
  commit("a comment");
  ASSERT_EQ(run({"history", "add", "times.jsonl"}).exit_code, 0);
  expect_status(0, run({"history", "issue", "--since=HEAD~1"}));
}

TEST_F(HistoryOfALibrary, TimesAreStepsBeyondChanceAndNeedNoAcceptance) {
  for (const double level : {10.0, 20.0, 20.0}) {
    nlohmann::ordered_json json{{"key", "a"}, {"outcome", "timed"}, {"metrics", {{"wall", level}}}};
    json["times"]["iterations"] = 1;
    for (int i = 0; i < 8; ++i) json["times"]["wall"].push_back(level + 0.01 * i);
    const std::string text = times_of({});
    write(file("times.jsonl"),
          text.substr(0, text.find('\n') + 1) + to_line(json) + "\n" + end_line(1) + "\n");
    git({"commit", "--quiet", "--allow-empty", "--message=change"});
    ASSERT_EQ(run({"history", "add", "times.jsonl"}).exit_code, 0);
  }
  const auto steps = split_lines(run({"history", "steps", "--format=csv"}).output);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_HAS(steps[1], "a,wall,10,20,10,100,");
  EXPECT_HAS(steps[1], ",passes");
  expect_refused(run({"accept", "a", "--reason=why"}), "the history has no change of `a`");
}

TEST_F(HistoryOfALibrary, SeriesContinueOverARenamedBranch) {
  write(file("times.jsonl"), times_of({"a"}));
  ASSERT_EQ(run({"history", "add", "times.jsonl"}).exit_code, 0);
  git({"checkout", "--quiet", "-b", "side"});  // is no renaming: main is still there
  ASSERT_EQ(run({"history", "add", "times.jsonl"}).exit_code, 0);
  git({"checkout", "--quiet", "main"});
  git({"branch", "-D", "--quiet", "side"});
  git({"branch", "-m", "main", "trunk"});
  write(file("quick.h"), std::string(kHeader) + "// other\n");
  commit("a comment");
  EXPECT_HAS(expect_status(0, run({"history", "add", "times.jsonl"})).errors,
             "the branch main is trunk now");
  const auto listed = run({"history", "list", "--branch=trunk", "--format=csv"});
  EXPECT_HAS(listed.output, "a,wall,2,,2000,") << listed.output;
  EXPECT_EQ(split_lines(run({"history", "list", "--branch=main", "--format=csv"}).output).size(),
            1u);
}

// Hooks and aliases name a repository for all git commands.
TEST_F(HistoryOfALibrary, IsThatOfTheFolderWhateverAHookSays) {
  const TemporaryFolder other;
  e2e::git(other.path(), {"init", "--quiet"});
  write(file("times.jsonl"), times_of({"a"}));
  SpawnOptions add = command({"history", "add", "times.jsonl"});
  add.working_directory = folder_.path();
  add.environment->push_back("GIT_DIR=" + (other.path() / ".git").string());
  add.environment->push_back("GIT_INDEX_FILE=/nonexistent");
  EXPECT_HAS(expect_status(0, value_of(run_command(add))).errors,
             e2e::git(folder_.path(), {"rev-parse", "HEAD"}).substr(0, 12));
}

// The output does not fit into the pipe, and is not read.
TEST_F(HistoryOfALibrary, CanBeAddedToDuringPaging) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key " + std::to_string(i));
  write(file("many.jsonl"), times_of(keys));
  write(file("times.jsonl"), times_of({"a"}));
  ASSERT_EQ(run({"history", "add", "many.jsonl"}).exit_code, 0);
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  const Fd reading(pipe_ends[0]);
  Fd writing(pipe_ends[1]);
  SpawnOptions list = command({"history", "list"});
  list.working_directory = folder_.path();
  list.descriptors = {{writing.get(), STDOUT_FILENO}};
  auto pager = value_of(Process::spawn(list));
  const int size = fcntl(reading.get(), F_GETPIPE_SZ);
  for (int waiting = 0; waiting < size;) {
    ASSERT_EQ(ioctl(reading.get(), FIONREAD, &waiting), 0);
    ASSERT_FALSE(pager.wait_for(std::chrono::milliseconds(1)));
  }
  auto added = expect_status(0, run({"history", "add", "times.jsonl"}));
  EXPECT_FALSE(has(added.errors, "waiting")) << added.errors;
}

// --- Nights ---

class Nightly : public QuickRepositoryTest {};

TEST_F(Nightly, WritesAnIssueThatNamesTheCommit) {
  auto night = [&] { return run({"nightly", "--make=", "main", "--definitions=quick.toml"}); };
  auto first = expect_status(0, night());
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));
  EXPECT_HAS(first.errors, "the first night: commit ");

  write(file("quick.h"), std::string(kHeader) + "// one\n");
  commit("a comment");
  const std::string slower = commit_slower_code();
  write(file("quick.h"), std::string(kHeader) + "// two\n");
  commit("another comment");
  auto second = expect_status(3, night());
  const std::string issue = text_of(file("nightly/issue.md"));
  const std::string title = issue.substr(0, issue.find('\n'));
  EXPECT_FALSE(has(second.errors, "the first night")) << second.errors;
  EXPECT_HAS(title, "instructions in squares/eager/forward/t1/cpu");
  EXPECT_HAS(title, slower.substr(0, 12) + " (fewer lines)");
  EXPECT_HAS(issue, "<code>quick&#58;&#58;squares(");
  EXPECT_HAS(text_of(file("nightly/index.html")), slower.substr(0, 12));

  EXPECT_HAS(expect_status(0, night()).errors, "no commit since the last time");
  EXPECT_FALSE(fs::exists(file("nightly/issue.md")));
}

}  // namespace
}  // namespace instr::e2e::history_test
