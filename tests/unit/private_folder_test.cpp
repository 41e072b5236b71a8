#include "core/base/private_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "core/base/paths.h"
#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::private_folder_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "LeftBehind.*:PrivateFolder.*");

namespace fs = std::filesystem;

TEST(PrivateFolder, IsPrivateAndRemovedWithItsOwner) {
  std::filesystem::path path;
  {
    auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder) << to_string(folder.error());
    path = folder->path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    std::ofstream(path / "file") << "text";
    std::filesystem::create_directory(path / "folder");
    PrivateFolder other = *std::move(folder);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  auto nowhere = PrivateFolder::make("/no/such/folder");
  ASSERT_FALSE(nowhere);
  EXPECT_FALSE(nowhere.error().advice.empty());
}

class LeftBehind : public ::testing::Test {
 protected:
  fs::path folder(const std::string& name, std::chrono::hours age) {
    fs::path path = parent_->path() / name;
    fs::create_directory(path);
    std::ofstream(path / "worker.log") << "text";
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  }

  static void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  std::vector<fs::path> folders() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(parent_->path())) {
      if (entry.is_directory()) found.push_back(entry.path());
    }
    return found;
  }

  Expected<PrivateFolder> parent_ = PrivateFolder::make();
};

TEST_F(LeftBehind, IsRemovedByTheNextRun) {
  pid_t killed = ::fork();
  if (killed == 0) {
    auto folder = PrivateFolder::make(parent_->path());
    ::_exit(folder ? 0 : 1);  // destroys nothing
  }
  int status = 0;
  ASSERT_EQ(::waitpid(killed, &status, 0), killed);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(folders().size(), 1U);
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_EQ(folders().size(), 1U) << "too young";
  age(folders()[0]);
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(folders().empty());
}

TEST_F(LeftBehind, IsRemovedAfterADayIfFromAnotherMachine) {
  auto lives = folder("instr_bench.tmp.another0.abcdef", std::chrono::hours(1));
  auto died = folder("instr_bench.tmp.another0.ghijkl", std::chrono::hours(25));
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(lives));
  EXPECT_FALSE(fs::exists(died));
}

TEST_F(LeftBehind, IsRemovedAmongAUsersFiles) {
  auto left = folder(".instr_bench.tmp.another0.abcdef", std::chrono::hours(25));
  auto made = PrivateFolder::make_in(parent_->path());
  ASSERT_TRUE(made);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(made->path().filename().string().starts_with("."));
  EXPECT_EQ(PrivateFolder::make_in("/no/such/folder").error(), ENOENT);
}

TEST_F(LeftBehind, StaysIfItBelongsToAnotherUser) {
  auto other = folder("something.else", std::chrono::hours(1000));
  fs::create_directory_symlink(other, parent_->path() / "instr_bench.tmp.link00");
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(other / "worker.log"));
}

TEST_F(LeftBehind, StaysWhileItsOwnerLives) {
  auto live = value_of(PrivateFolder::make(parent_->path()));
  age(live.path());
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(live.path()));
}

// --- Trusted paths ---

class TrustedPath : public ::testing::Test {
 protected:
  // A folder that contains another folder.
  fs::path inside(const std::string& name, fs::perms permissions) {
    fs::path folder = ours_.path() / name;
    fs::create_directories(folder / "mine");
    fs::permissions(folder, permissions);
    return folder / "mine";
  }

  static std::string problem_of(const fs::path& path) { return error_text(check_trusted(path)); }

  TemporaryFolder ours_;
};

constexpr fs::perms kAll = fs::perms::all;

TEST_F(TrustedPath, AcceptsOwnAndMissingFolders) {
  EXPECT_EQ(problem_of("/"), "no error");
  EXPECT_EQ(problem_of(ours_.path()), "no error");
  EXPECT_EQ(problem_of(ours_.path() / "not" / "there"), "no error");
  EXPECT_EQ(problem_of(inside("readable", fs::perms(0755))), "no error");
}

TEST_F(TrustedPath, RefusesAFolderThatOthersMayWrite) {
  fs::path mine = inside("shared", kAll);
  EXPECT_EQ(problem_of(mine), "others may write to '" + mine.parent_path().string() +
                                  "': run: chmod go-w '" + mine.parent_path().string() + "'");
  EXPECT_NE(problem_of(mine / "not" / "there"), "no error");
  EXPECT_NE(problem_of(mine / ".." / "mine"), "no error");
  EXPECT_EQ(problem_of(inside("sticky", kAll | fs::perms::sticky_bit)), "no error");
}

TEST_F(TrustedPath, FollowsLinks) {
  fs::path mine = inside("shared", kAll), safe = inside("safe", fs::perms(0700));
  fs::create_directory_symlink(mine, ours_.path() / "to_shared");
  fs::create_directory_symlink(safe, mine.parent_path() / "link");
  fs::create_directory_symlink("safe/mine", ours_.path() / "relative");
  fs::create_directory_symlink("loop", ours_.path() / "loop");
  EXPECT_NE(problem_of(ours_.path() / "to_shared"), "no error");
  EXPECT_NE(problem_of(mine.parent_path() / "link"), "no error");
  EXPECT_EQ(problem_of(ours_.path() / "relative" / "cache"), "no error");
  EXPECT_NE(problem_of(ours_.path() / "loop"), "no error");
}

TEST_F(TrustedPath, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::path mine = inside("theirs", fs::perms(0755));
  ASSERT_EQ(::chown(mine.parent_path().c_str(), 12345, 12345), 0);
  EXPECT_HAS(problem_of(mine), "belongs to another user");
  fs::path grouped = inside("grouped", fs::perms(0775));
  ASSERT_EQ(::chown(grouped.parent_path().c_str(), 0, 12345), 0);
  EXPECT_HAS(problem_of(grouped), "others may write");
}

// --- File names ---

TEST(MakeFileName, IsNeverTheSameForTwoTexts) {
  const std::string long_text(500, 'x');
  const std::vector<std::string> texts{"a/b", "a.b",         "a b",     "a:b",
                                       "a_b", "a\nb",        "..",      "../x",
                                       ".",   "/etc/passwd", long_text, long_text + "y"};
  std::set<std::string> names;
  for (const auto& text : texts) {
    const std::string name = make_file_name(text);
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
    EXPECT_LE(name.size(), 200U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), texts.size());
}

}  // namespace
}  // namespace instr::private_folder_test
