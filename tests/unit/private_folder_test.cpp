#include "core/base/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace instr {
namespace {

namespace fs = std::filesystem;

TEST(PrivateFolder, IsPrivateAndGoesWithItsOwner) {
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

class LeftBehind : public testing::Test {
 protected:
  // A folder as a run makes it, last touched an hour ago.
  fs::path old_folder(const std::string& name) {
    fs::path path = parent_->path() / name;
    fs::create_directory(path);
    std::ofstream(path / "worker.log") << "text";
    age(path);
    return path;
  }

  static void age(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  Expected<PrivateFolder> parent_ = PrivateFolder::make();
};

TEST_F(LeftBehind, GoesWithTheNextRun) {
  auto left = old_folder("instr_bench.run.abcdef");
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(LeftBehind, AmongAUsersFilesToo) {
  auto left = old_folder(".instr_bench.run.abcdef");
  auto made = PrivateFolder::make_in(parent_->path());
  ASSERT_TRUE(made);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(made->path().filename().string().starts_with("."));
  EXPECT_EQ(PrivateFolder::make_in("/no/such/folder").error(), ENOENT);
}

TEST_F(LeftBehind, IsNotWhatIsYoungOrSomebodyElses) {
  auto young = parent_->path() / "instr_bench.run.young0";
  fs::create_directory(young);
  auto other = old_folder("something.else");
  fs::create_directory_symlink(other, parent_->path() / "instr_bench.run.link00");
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(other / "worker.log"));
}

TEST_F(LeftBehind, IsNotWhatALiveRunUses) {
  auto live = PrivateFolder::make(parent_->path());
  ASSERT_TRUE(live);
  age(live->path());
  ASSERT_TRUE(PrivateFolder::make(parent_->path()));
  EXPECT_TRUE(fs::exists(live->path()));
}

}  // namespace
}  // namespace instr
