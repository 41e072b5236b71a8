#include "core/base/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/labels.h"

namespace instr::private_folder_test {
namespace {

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
  auto live = PrivateFolder::make(parent_->path());
  ASSERT_TRUE(live);
  age(live->path());
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(live->path()));
}

}  // namespace
}  // namespace instr::private_folder_test
