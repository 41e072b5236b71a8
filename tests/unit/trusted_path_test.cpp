#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/private_folder.h"
#include "tests/testing.h"

namespace instr::trusted_path_test {
namespace {

using namespace testing;

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

}  // namespace
}  // namespace instr::trusted_path_test
