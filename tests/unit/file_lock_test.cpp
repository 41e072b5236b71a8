#include "core/base/file_lock.h"

#include <gtest/gtest.h>

#include "tests/labels.h"
#include "tests/testing.h"

namespace instr::file_lock_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "FileLockTest.*");

class FileLockTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "lock";
};

TEST_F(FileLockTest, ExcludesOthers) {
  auto shared = FileLock::attempt(file_, LockKind::kShared);
  ASSERT_TRUE(shared && *shared);
  auto second = FileLock::attempt(file_, LockKind::kShared);
  EXPECT_TRUE(second && *second);
  auto alone = value_of(FileLock::attempt(file_, LockKind::kExclusive));
  EXPECT_FALSE(alone);
  shared->reset();
  second->reset();
  EXPECT_TRUE(FileLock::wait(file_, LockKind::kExclusive, {}));
}

TEST_F(FileLockTest, AnUnreadableFileIsAnErrorWithoutWaiting) {
  EXPECT_FALSE(FileLock::attempt(folder_.path(), LockKind::kShared));
  EXPECT_FALSE(FileLock::wait(folder_.path() / "no" / "file", LockKind::kShared, {}));
}

TEST_F(FileLockTest, AWaitIsReportedOnceAndEndsOnRequest) {
  auto held = FileLock::attempt(file_, LockKind::kExclusive);
  std::stop_source stop;
  int said = 0;
  auto waited = FileLock::wait(file_, LockKind::kShared, {stop.get_token(), [&] {
                                                            ++said;
                                                            stop.request_stop();
                                                          }});
  EXPECT_FALSE(waited);
  EXPECT_EQ(said, 1);
}

TEST_F(FileLockTest, AFolderIsLockedItselfAndStaysEmpty) {
  const auto folder = folder_.path() / "files";
  EXPECT_FALSE(FileLock::wait_for_folder(folder, LockKind::kShared, {})) << "it is not there";
  std::filesystem::create_directory(folder);
  auto held = FileLock::wait_for_folder(folder, LockKind::kShared, {});
  ASSERT_TRUE(held);
  EXPECT_TRUE(FileLock::wait_for_folder(folder, LockKind::kShared, {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(FileLock::wait_for_folder(folder, LockKind::kExclusive, {stop.get_token()}));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace instr::file_lock_test
