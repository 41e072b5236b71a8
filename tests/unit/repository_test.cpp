// Tests on a real git repository.
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/git.h"
#include "core/base/git_worktree.h"
#include "core/base/process.h"
#include "tests/testing.h"

namespace instr::repository_test {
namespace {

using namespace testing;

class RepositoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    git({"init", "--quiet", "--initial-branch=main"});
    commit("first");
    commit("second");
  }

  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", folder_.path().string(), "-c", "user.name=n", "-c",
                                 "user.email=e", "-c", "commit.gpgsign=false"});
    SpawnOptions spawn;
    spawn.argv = std::move(words);
    auto ended = value_of(run_command(std::move(spawn)));
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  }
  // Each date is before the previous one, as with wrong clocks.
  void commit(const std::string& subject) {
    folder_.write("file", subject);
    git({"add", "file"});
    git({"commit", "--quiet", "-m", subject,
         "--date=" + std::to_string(date_ -= 100'000) + " +0000"});
  }

  TemporaryFolder folder_;
  Repository repository_{folder_.path()};
  std::int64_t date_ = 1'700'000'000;
};

TEST_F(RepositoryTest, FindsCommitsWithTheirPlaces) {
  auto head = repository_.find("HEAD");
  auto first = repository_.find("main~1");
  ASSERT_TRUE(head && first);
  EXPECT_EQ(head->hash.size(), 40u);
  EXPECT_EQ(head->position, 2);
  EXPECT_EQ(head->subject, "second");
  EXPECT_EQ(head->authored, 1'700'000'000 - 200'000);
  EXPECT_LT(first->place(), head->place());
  EXPECT_GT(first->authored, head->authored);
  EXPECT_EQ(repository_.find(head->hash.substr(0, 8))->hash, head->hash);
  EXPECT_EQ(repository_.branch(), "main");
}

TEST_F(RepositoryTest, RefusesUnknownCommits) {
  for (const char* name : {"gone", "--all", "", "HEAD:file", "HEAD~5"}) {
    auto refused = repository_.find(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_HAS(refused.error().what, "there is no commit");
  }
  EXPECT_FALSE(Repository("/").find("HEAD"));
}

TEST_F(RepositoryTest, FollowsFirstParentsOfABranch) {
  git({"checkout", "--quiet", "-b", "side"});
  commit("on the side");
  auto side = repository_.find("side");
  git({"checkout", "--quiet", "main"});
  commit("on main");
  git({"merge", "--quiet", "-s", "ours", "--no-edit", "side"});
  auto merged = repository_.find("main");
  ASSERT_TRUE(side && merged);
  EXPECT_EQ(merged->position, 4);
  EXPECT_EQ(side->position, 3);
  EXPECT_TRUE(repository_.check_is_on("main", *merged));
  EXPECT_TRUE(repository_.check_is_on("side", *side));
  EXPECT_TRUE(repository_.check_is_on("unknown", *side));
  EXPECT_FALSE(repository_.check_is_on("main", *side));
  EXPECT_FALSE(repository_.check_is_on("side", *merged));
}

TEST_F(RepositoryTest, ListsARangeWithItsFirstCommit) {
  commit("third");
  const auto hash = [this](const char* name) { return repository_.find(name)->hash; };
  EXPECT_EQ(repository_.list_commits("main~2..main"),
            (std::vector<std::string>{hash("main~2"), hash("main~1"), hash("main")}));
  EXPECT_EQ(repository_.list_commits("main~1.."),
            (std::vector<std::string>{hash("main~1"), hash("main")}));
  EXPECT_EQ(repository_.list_commits("main..main"), std::vector<std::string>{hash("main")});
  for (const char* range : {"main", "main...main~1", "main..main~1", "gone..main", "main..gone"}) {
    EXPECT_FALSE(repository_.list_commits(range)) << range;
  }
}

TEST_F(RepositoryTest, MakesATreeOfACommitAndRemovesIt) {
  std::filesystem::path path;
  {
    auto tree = CommitTree::make(folder_.path());
    ASSERT_TRUE(tree);
    path = tree->path();
    ASSERT_TRUE(tree->check_out(repository_.find("main~1")->hash));
    EXPECT_EQ(Repository(path).find("HEAD")->subject, "first");
    EXPECT_EQ(repository_.find("HEAD")->subject, "second");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / ".git/worktrees/tree"));
}

// A user's tree may be on a volume that is not mounted now; a killed run leaves one of ours.
TEST_F(RepositoryTest, ForgetsOnlyItsOwnTreesWhoseFolderIsGone) {
  const auto known = [this](const char* name) {
    return std::filesystem::exists(folder_.path() / ".git/worktrees" / name);
  };
  for (const char* tree : {"away", "instr_bench.tmp.0.killed/left"}) {
    const auto path = folder_.path() / tree;
    git({"worktree", "add", "--quiet", "--detach", path.string()});
    std::filesystem::remove_all(path);
  }
  EXPECT_TRUE(known("left"));
  ASSERT_TRUE(CommitTree::make(folder_.path()));
  EXPECT_TRUE(known("away"));
  EXPECT_FALSE(known("left"));
}

TEST_F(RepositoryTest, KnowsWhereCommitsPartedAndWhatTheyContain) {
  git({"checkout", "--quiet", "-b", "side", "main~1"});
  commit("on the side");
  const auto side = repository_.resolve("side").value();
  const auto main = repository_.resolve("main").value();
  const auto first = repository_.resolve("main~1").value();
  EXPECT_EQ(repository_.merge_base(main, side), first);
  EXPECT_TRUE(repository_.is_ancestor(first, "main"));
  EXPECT_FALSE(repository_.is_ancestor(side, "main"));
  EXPECT_EQ(repository_.file_at(main, "file"), "second");
  EXPECT_FALSE(repository_.file_at(main, "missing"));
  EXPECT_EQ(repository_.summary(main), main.substr(0, 7) + " second");
}

TEST_F(RepositoryTest, ReportsUncommittedChanges) {
  EXPECT_TRUE(repository_.check_is_clean());
  folder_.write("new", "not known to git");
  EXPECT_TRUE(repository_.check_is_clean());
  folder_.write("file", "changed");
  EXPECT_FALSE(repository_.check_is_clean());
}

TEST_F(RepositoryTest, RefusesAShallowCloneAndADetachedHead) {
  git({"clone", "--quiet", "--depth=1", "file://" + folder_.path().string(),
       (folder_.path() / "clone").string()});
  auto refused = Repository(folder_.path() / "clone").find("HEAD");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().advice, "git fetch --unshallow");
  git({"checkout", "--quiet", "HEAD~1"});
  EXPECT_FALSE(repository_.branch());
}

TEST(Dates, AreReadAndWritten) {
  EXPECT_EQ(parse_time("2026-01-02T03:04:05Z"), 1767323045);
  EXPECT_EQ(format_date(1767323045), "2026-01-02");
  for (const char* text : {"", "yesterday", "2026-01-02T03:04:05", "2026-01-02T03:04:05Z x"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

}  // namespace
}  // namespace instr::repository_test
