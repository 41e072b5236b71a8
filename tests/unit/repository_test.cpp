// Tests on a real git repository.

#include <cstdlib>

#include "core/base/git.h"
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
    EXPECT_HAS(error_text(repository_.find(name)), "there is no commit");
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
  EXPECT_TRUE(repository_.is_ancestor(first, "main").value());
  EXPECT_FALSE(repository_.is_ancestor(side, "main").value());
  EXPECT_EQ(repository_.file_at(main, "file"), "second");
  EXPECT_FALSE(repository_.file_at(main, "missing"));
  EXPECT_EQ(repository_.summary(main), main.substr(0, 7) + " second");
}

// Two branches that took each other's commits have two merge bases.
TEST_F(RepositoryTest, NamesSeveralMergeBases) {
  git({"checkout", "--quiet", "-b", "side", "main~1"});
  commit("on the side");
  git({"branch", "side-before"});
  git({"merge", "--quiet", "-s", "ours", "--no-edit", "main"});
  git({"checkout", "--quiet", "main"});
  git({"branch", "main-before"});
  git({"merge", "--quiet", "-s", "ours", "--no-edit", "side-before"});
  const auto hash = [this](const char* name) { return repository_.resolve(name).value(); };
  const auto refused = repository_.merge_base(hash("main"), hash("side"));
  ASSERT_FALSE(refused);
  EXPECT_HAS(refused.error().what, short_hash(hash("main-before")));
  EXPECT_HAS(refused.error().what, short_hash(hash("side-before")));
  EXPECT_EQ(repository_.merge_base(hash("main-before"), hash("side")), hash("main-before"));
}

// In a clone without the commits between, git names an older merge base.
TEST_F(RepositoryTest, TrustsNoMergeBaseOfAShallowClone) {
  commit("third");
  git({"checkout", "--quiet", "-b", "side", "main"});
  commit("on the side");
  git({"checkout", "--quiet", "main"});
  commit("fourth");
  const auto path = folder_.path() / "clone";
  git({"clone", "--quiet", "--depth=1", "--no-single-branch", "file://" + folder_.path().string(),
       path.string()});
  const Repository clone(path);
  const auto main = clone.resolve("origin/main").value();
  const auto refused = clone.merge_base(main, clone.resolve("origin/side").value());
  ASSERT_FALSE(refused);
  EXPECT_HAS(refused.error().what, "this clone is shallow");
  EXPECT_HAS(refused.error().advice, "git fetch --unshallow");
  EXPECT_EQ(clone.merge_base(main, main), main);
}

TEST_F(RepositoryTest, PassesOnTheWordsOfGit) {
  const TemporaryFolder none;
  const Repository outside(none.path());
  for (const std::string& what :
       {outside.branch().error().what, outside.resolve("HEAD").error().what}) {
    EXPECT_HAS(what, "not a git repository");
  }
  git({"checkout", "--quiet", "--detach"});
  EXPECT_EQ(repository_.branch().error().what, "no branch is checked out here");
}

// The command `git status` shows none of these.
TEST_F(RepositoryTest, FindsFilesThatAreNotOfTheCommit) {
  const auto top = std::filesystem::canonical(folder_.path());
  const TemporaryFolder sibling;
  for (const std::string name : {"assumed.h", "skipped.h", "same.h", "with space.h"}) {
    folder_.write(name, "// a header\n");
    git({"add", name});
  }
  folder_.write(".gitignore", "ignored.h\n");
  git({"add", ".gitignore"});
  const auto library = sibling.path() / "library";
  git({"init", "--quiet", library.string()});
  sibling.write("library/sibling.h", "// one\n");
  git({"-C", library.string(), "add", "sibling.h"});
  git({"-C", library.string(), "commit", "--quiet", "-m", "a library"});
  git({"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(), "sub"});
  git({"-C", "sub", "config", "user.name", "n"});
  git({"config", "-f", ".gitmodules", "submodule.sub.ignore", "all"});
  git({"add", ".gitmodules"});
  git({"commit", "--quiet", "-m", "headers and a submodule"});
  const auto strangers = [&](std::vector<std::filesystem::path> files) {
    std::set<std::filesystem::path> named;
    for (const auto& file : files) named.insert(top / file);
    std::string text;
    for (const auto& stranger : value_of(repository_.find_strangers(named))) {
      const auto below = stranger.file.lexically_relative(top).string();
      text += to_string(Stranger{below, stranger.why}) + "\n";
    }
    return text;
  };
  EXPECT_EQ(strangers({"same.h", "assumed.h", "with space.h", "sub/sibling.h", "gone.h",
                       "/usr/include/stdio.h"}),
            "");

  folder_.write("untracked.h", "");
  folder_.write("ignored.h", "");
  git({"update-index", "--assume-unchanged", "assumed.h"});
  git({"update-index", "--skip-worktree", "skipped.h"});
  folder_.write("assumed.h", "// another\n");
  folder_.write("skipped.h", "// another\n");
  EXPECT_TRUE(repository_.check_is_clean());
  EXPECT_EQ(strangers({"untracked.h"}), "untracked.h is not in the commit\n");
  EXPECT_EQ(strangers({"ignored.h"}), "ignored.h is ignored by git\n");
  EXPECT_EQ(strangers({"same.h", "assumed.h"}), "assumed.h differs from the commit\n");
  EXPECT_EQ(strangers({"skipped.h"}), "skipped.h differs from the commit\n");
  EXPECT_HAS(strangers({library / "sibling.h"}), "sibling.h is of another repository");
  sibling.write("library/.gitignore", "installed\n");  // as of a package manager
  std::filesystem::create_directory(library / "installed");
  sibling.write("library/installed/package.h", "");
  EXPECT_EQ(strangers({library / "installed/package.h"}), "");

  folder_.write("sub/sibling.h", "// changed\n");
  EXPECT_EQ(strangers({"sub/sibling.h"}), "sub/sibling.h differs from the commit\n");
  git({"-C", "sub", "commit", "--quiet", "-a", "-m", "changed"});
  EXPECT_EQ(strangers({"sub/sibling.h"}),
            "sub/sibling.h is of a submodule that is at another commit\n");
  EXPECT_FALSE(repository_.check_is_clean());
  git({"init", "--quiet", "inner"});
  folder_.write("inner/own.h", "");
  EXPECT_EQ(strangers({"inner/own.h"}),
            "inner/own.h is of a repository that is not in the commit\n");
}

TEST_F(RepositoryTest, KnowsRenamedBranches) {
  const auto path = folder_.path() / "clone";
  git({"clone", "--quiet", folder_.path().string(), path.string()});
  const Repository clone(path);
  EXPECT_TRUE(clone.has_branch("main").value());
  EXPECT_FALSE(clone.has_branch("master").value());
  EXPECT_TRUE(clone.was_renamed("master", "main"));  // the remote's usual branch
  EXPECT_FALSE(clone.was_renamed("main", "other"));
  git({"-C", path.string(), "branch", "-m", "main", "other"});
  EXPECT_TRUE(clone.was_renamed("main", "other"));
  EXPECT_TRUE(repository_.was_renamed("any", "main"));  // without a remote
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
  EXPECT_HAS(refused.error().advice, "git fetch --unshallow");
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
