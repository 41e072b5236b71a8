// The folder of a cache: which existing ones are used, and what of them is changed.
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/compile/cache.h"
#include "tests/testing.h"

namespace instr::cache_folder_test {
namespace {

using namespace testing;

class CacheFolderTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path root_ = folder_ / "cache";
  ScopedVariable variable_{"INSTR_BENCH_CACHE", root_};
};

TEST_F(CacheFolderTest, KeepsTheModeOfAFolderThatExists) {
  const auto mode = fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read;
  fs::create_directories(root_ / "venv-torch");  // made by tools/
  fs::permissions(root_, mode);
  EXPECT_FALSE(value_of(Cache::open(true)).caution());
  EXPECT_EQ(fs::status(root_).permissions(), mode);
  EXPECT_EQ(fs::status(root_ / "artefacts").permissions(), fs::perms::owner_all);
  folder_.write("cache/file", "");  // of a user, in a cache of ours
  EXPECT_FALSE(value_of(Cache::open(true)).caution());
}

// A variable that names a system folder, directly or by a link, must not change it.
TEST_F(CacheFolderTest, RefusesAFolderInUseForSomethingElse) {
  const auto mode = fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;
  folder_.write("system/program", "");
  const fs::path system = folder_.path() / "system";
  fs::permissions(system, mode);
  fs::create_directory_symlink(system, root_);
  for (const fs::path& named : {root_, system}) {
    variable_.set(named);
    auto refused = Cache::open(true);
    ASSERT_FALSE(refused) << named;
    EXPECT_HAS(refused.error().what, "the cache '" + named.string() + "'");
    EXPECT_HAS(refused.error().what, "is in use for something else: it contains 'program'");
    EXPECT_HAS(refused.error().advice, "set INSTR_BENCH_CACHE to an empty or new folder");
    EXPECT_EQ(fs::status(system).permissions(), mode);
    EXPECT_EQ(std::distance(fs::directory_iterator(system), {}), 1);
  }
}

TEST_F(CacheFolderTest, RefusesALinkOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  const fs::path mine = folder_.path() / "mine";
  fs::create_directories(mine);
  fs::create_directory_symlink(mine, root_);
  ASSERT_EQ(::lchown(root_.c_str(), 12345, 12345), 0);
  auto refused = Cache::open(true);
  ASSERT_FALSE(refused);
  EXPECT_HAS(refused.error().what, "belongs to another user");
  EXPECT_TRUE(fs::is_empty(mine));
}

}  // namespace
}  // namespace instr::cache_folder_test
