#include "core/compile/cache.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "core/base/content_hash.h"
#include "core/base/process.h"
#include "tests/labels.h"
#include "tests/testing.h"
#include "tests/unit/container.h"

namespace instr::cache_test {
namespace {

using namespace testing;

const RunsUnder kThreadSanitizer("thread", "CacheTest.*");

class CacheTest : public ::testing::Test {
 protected:
  static Cache open(bool enabled = true) { return value_of(Cache::open(enabled)); }

  static fs::path put(Cache& cache, const std::string& name, const std::string& text) {
    return value_of(cache.get(name, [&](const fs::path& to) { return write_text(to, text); }));
  }

  TemporaryFolder folder_;
  fs::path root_ = folder_ / "cache";
  ScopedVariable variable_{"INSTR_BENCH_CACHE", root_};
};

TEST(ContentHash, IsXxh3) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST_F(CacheTest, KeepsArtefacts) {
  fs::path first;
  {
    Cache cache = open();
    EXPECT_FALSE(cache.find("unit-1.so"));
    first = put(cache, "unit-1.so", "code");
    EXPECT_EQ(cache.find("unit-1.so"), first);
    EXPECT_FALSE(cache.caution());
  }
  Cache cache = open();
  EXPECT_EQ(cache.find("unit-1.so"), first);
  EXPECT_EQ(read_text(first), "code");
  auto again = cache.get("unit-1.so", [](const fs::path&) -> Expected<void> {
    ADD_FAILURE() << "made twice";
    return {};
  });
  EXPECT_EQ(again.value_or(""), first);
}

TEST_F(CacheTest, AnArtefactHasItsOwnFolder) {
  Cache cache = open();
  fs::path worker = put(cache, "worker-1/worker", "program");
  EXPECT_EQ(worker.filename(), "worker");
  EXPECT_EQ(worker.parent_path().filename(), "worker-1");
  EXPECT_EQ(cache.find("worker-1/worker"), worker);
}

TEST_F(CacheTest, AFailedMakeLeavesNothing) {
  Cache cache = open();
  auto made = cache.get("unit-1.so", [](const fs::path& to) -> Expected<void> {
    EXPECT_TRUE(write_text(to, "half"));
    return fail("no");
  });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what, "no");
  EXPECT_FALSE(cache.find("unit-1.so"));
  for (const auto& entry : fs::directory_iterator(cache.scratch())) {
    EXPECT_TRUE(entry.is_regular_file() && entry.file_size() <= 4096) << entry.path();
  }
  EXPECT_EQ(read_text(put(cache, "unit-1.so", "whole")), "whole");
}

TEST_F(CacheTest, RebuildsDamagedArtefacts) {
  fs::path path;
  {
    Cache cache = open();
    path = put(cache, "unit-1.so", "some code");
  }
  for (const char* broken : {"some", "some c0de", "some code and more"}) {
    ASSERT_TRUE(write_text(path, broken));
    Cache cache = open();
    EXPECT_FALSE(cache.find("unit-1.so")) << broken;
    EXPECT_EQ(read_text(put(cache, "unit-1.so", "some code")), "some code");
  }
  fs::remove(path.parent_path() / ".sum");
  EXPECT_FALSE(open().find("unit-1.so"));
}

TEST_F(CacheTest, AnArtefactMayHoldAFolderThatIsFilledLater) {
  fs::path path;
  {
    Cache cache = open();
    path = put(cache, "worker-1/worker", "program");
  }
  const fs::path growing = path.parent_path() / kUnsealedName / "deeper";
  fs::create_directories(growing);
  ASSERT_TRUE(write_text(growing / "new", "text"));
  EXPECT_EQ(open().find("worker-1/worker"), path);
  ASSERT_TRUE(write_text(path.parent_path() / "new", "text"));
  EXPECT_FALSE(open().find("worker-1/worker"));
}

TEST_F(CacheTest, IsPrivateToItsUser) {
  open();
  EXPECT_EQ(fs::status(root_).permissions(), fs::perms::owner_all);
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_write);
  EXPECT_HAS(error_text(Cache::open(true)), "others may write");
}

TEST_F(CacheTest, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directories(root_);
  ASSERT_EQ(::chown(root_.c_str(), 12345, 12345), 0);
  EXPECT_HAS(error_text(Cache::open(true)), "another user");
}

TEST_F(CacheTest, RefusesAFolderThatOthersCanMoveAway) {
  fs::create_directories(root_);
  fs::permissions(root_, fs::perms::owner_all);
  fs::permissions(folder_.path(), fs::perms::all);
  auto refused = Cache::open(true);
  fs::permissions(folder_.path(), fs::perms::owner_all);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "the cache '" + root_.string() + "': others may write to '" +
                                      folder_.path().string() + "'");
  EXPECT_HAS(refused.error().advice, "--no-cache");
}

TEST_F(CacheTest, MakesParentFoldersPrivate) {
  variable_.set(root_ / "above/cache");
  mode_t before = ::umask(0002);
  open();
  ::umask(before);
  EXPECT_EQ(fs::status(root_ / "above").permissions(), fs::perms::owner_all);
  EXPECT_FALSE(open().caution());
}

TEST_F(CacheTest, RefusesAFile) {
  ASSERT_TRUE(write_text(root_, "a file"));
  EXPECT_HAS(error_text(Cache::open(true)), "not a folder");
}

TEST_F(CacheTest, FallsBackToATemporaryFolder) {
  // Not even root can make a folder below a file.
  folder_.write("file", "");
  variable_.set(folder_.path() / "file/cache");
  fs::path place;
  {
    Cache cache = open();
    ASSERT_TRUE(cache.caution());
    EXPECT_NE(cache.caution()->find("cannot be written"), std::string::npos);
    place = cache.folder();
    EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
    EXPECT_EQ(read_text(put(cache, "unit-1.so", "code")), "code");
  }
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(CacheTest, DoesNotTouchTheFolderIfDisabled) {
  {
    Cache cache = open(false);
    put(cache, "unit-1.so", "code");
    EXPECT_TRUE(cache.find("unit-1.so"));
    EXPECT_TRUE(cache.caution());
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(CacheTest, ThreadsMakeAnArtefactOnce) {
  Cache cache = open();
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto path = cache.get("unit-1.so", [&](const fs::path& to) {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return write_text(to, "code");
      });
      EXPECT_TRUE(path);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST_F(CacheTest, ProcessesMakeAnArtefactOnce) {
  open();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      bool is_maker = false;
      {
        auto cache = Cache::open(true);
        auto path = cache->get("unit-1.so", [&](const fs::path& to) {
          is_maker = true;
          ::usleep(50000);
          return write_text(to, "code");
        });
        if (!path) ::_exit(9);
      }
      ::_exit(is_maker ? 1 : 0);
    }
    children.push_back(child);
  }
  int makers = 0;
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    makers += WEXITSTATUS(status);
  }
  EXPECT_EQ(makers, 1);
}

TEST_F(CacheTest, RunsWithEqualProcessNumbersDoNotWaitForEachOther) {
  int opened[2], done[2];
  ASSERT_TRUE(::pipe(opened) == 0 && ::pipe(done) == 0);
  pid_t first = start_container([&] {
    auto cache = Cache::open(true);
    if (!cache || cache->caution() || ::write(opened[1], "!", 1) != 1) return 1;
    char byte;
    return ::read(done[0], &byte, 1) == 1 ? 0 : 2;
  });
  ::close(opened[1]);
  char byte;
  if (::read(opened[0], &byte, 1) != 1) {
    int status = exit_status_of(first);
    if (status == kNoContainers) GTEST_SKIP() << "no namespaces here";
    FAIL() << status;
  }
  pid_t second = start_container([&] {
    auto cache = Cache::open(true);
    if (!cache || cache->caution()) return 1;
    return cache->get("unit-1.so", [](const fs::path& to) { return write_text(to, "code"); }) ? 0
                                                                                              : 2;
  });
  std::jthread end([&](std::stop_token over) {
    for (int i = 0; i < 12'000 && !over.stop_requested(); ++i) ::usleep(10'000);
    if (!over.stop_requested()) kill_tree(second);
  });
  EXPECT_EQ(exit_status_of(second), 0);
  end.request_stop();
  EXPECT_EQ(::write(done[1], "!", 1), 1);
  EXPECT_EQ(exit_status_of(first), 0);
  for (int fd : {opened[0], done[0], done[1]}) ::close(fd);
}

TEST_F(CacheTest, WaitingForAnotherRunIsReportedAndCanBeEnded) {
  Cache first = open();
  std::promise<void> begun, finish;
  std::jthread maker([&] {
    auto made = first.get("unit-1.so", [&](const fs::path& to) {
      begun.set_value();
      finish.get_future().wait();
      return write_text(to, "code");
    });
    EXPECT_TRUE(made);
  });
  begun.get_future().wait();
  std::stop_source stop;
  std::string said;
  auto second = Cache::open(true, {stop.get_token(), [&](const std::string& why) {
                                     said = why;
                                     stop.request_stop();
                                   }});
  ASSERT_TRUE(second);
  auto waited = second->get("unit-1.so", [](const fs::path& to) { return write_text(to, "two"); });
  EXPECT_FALSE(waited);
  EXPECT_EQ(said,
            "waiting for another run that is compiling the same code (unit-1.so) in the cache '" +
                root_.string() + "'");
  finish.set_value();
}

// Simulates locks without effect, as on some network volumes, by locking another file.
TEST_F(CacheTest, WithoutLocksTheFirstArtefactIsKept) {
  Cache first = open();
  Cache second = open();
  fs::path theirs;
  auto ours = first.get("unit-1.so", [&](const fs::path& to) {
    fs::remove(root_ / "locks/unit-1.so");
    theirs = put(second, "unit-1.so", "theirs");
    return write_text(to, "ours");
  });
  ASSERT_TRUE(ours) << to_string(ours.error());
  EXPECT_EQ(*ours, theirs);
  EXPECT_EQ(read_text(*ours), "theirs");
  EXPECT_EQ(open().find("unit-1.so"), theirs);
}

TEST_F(CacheTest, WithoutLocksTrimKeepsArtefactsOfLiveRuns) {
  Cache first = open();
  auto made = first.get("unit-1.so", [&](const fs::path& to) {
    fs::remove(root_ / "lock");
    open().trim(0);
    return write_text(to, "code");
  });
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(read_text(*made), "code");
}

TEST_F(CacheTest, TrimRemovesTheLeastRecentlyUsed) {
  {
    Cache cache = open();
    put(cache, "old.so", std::string(1000, 'a'));
    put(cache, "new.so", std::string(1000, 'b'));
    cache.write_hint("variant-1", "unit-gone.so\n");
    cache.write_hint("wish-1", "wish\n");
  }
  auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root_ / "artefacts/old.so/.sum", hour_ago);
  Cache cache = open();
  cache.trim(10000);
  EXPECT_TRUE(fs::exists(root_ / "artefacts/old.so"));
  cache.trim(1500);
  EXPECT_FALSE(fs::exists(root_ / "artefacts/old.so"));
  EXPECT_TRUE(fs::exists(root_ / "artefacts/new.so"));
  EXPECT_FALSE(cache.read_hint("variant-1"));
  EXPECT_TRUE(cache.read_hint("wish-1"));
}

TEST_F(CacheTest, TrimKeepsArtefactsInUse) {
  Cache cache = open();
  put(cache, "mine.so", std::string(1000, 'a'));
  auto other = std::make_optional(open());
  put(*other, "theirs.so", std::string(1000, 'b'));
  cache.trim(0);
  EXPECT_TRUE(fs::exists(root_ / "artefacts/mine.so"));
  EXPECT_TRUE(fs::exists(root_ / "artefacts/theirs.so"));
  other.reset();
  cache.trim(0);
  EXPECT_TRUE(fs::exists(root_ / "artefacts/mine.so"));
  EXPECT_FALSE(fs::exists(root_ / "artefacts/theirs.so"));
}

TEST_F(CacheTest, KeepsHints) {
  open().write_hint("variant-1", "unit-1.so\n");
  Cache cache = open();
  EXPECT_EQ(cache.read_hint("variant-1"), "unit-1.so\n");
  EXPECT_FALSE(cache.read_hint("variant-2"));
}

// --- The folder ---

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
  folder_.write("cache/file", "");  // a user's file
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
  EXPECT_HAS(error_text(Cache::open(true)), "belongs to another user");
  EXPECT_TRUE(fs::is_empty(mine));
}

}  // namespace
}  // namespace instr::cache_test
