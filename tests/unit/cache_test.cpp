#include "core/compile/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "core/base/private_folder.h"
#include "core/compile/cache_files.h"

namespace instr {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    root_ = folder_->path() / "cache";
    ::setenv("INSTR_BENCH_CACHE", root_.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("INSTR_BENCH_CACHE"); }

  static Cache open(bool enabled = true) {
    auto cache = Cache::open(enabled);
    EXPECT_TRUE(cache) << to_string(cache.error());
    return std::move(*cache);
  }

  static fs::path put(Cache& cache, const std::string& name, const std::string& text) {
    auto made = cache.get(name, [&](const fs::path& to) { return write_text(to, text); });
    EXPECT_TRUE(made) << to_string(made.error());
    return made.value_or("");
  }

  std::optional<PrivateFolder> folder_;
  fs::path root_;
};

TEST(ContentHash, IsThatOfXxh3) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST_F(CacheTest, KeepsWhatWasMade) {
  fs::path first;
  {
    Cache cache = open();
    EXPECT_FALSE(cache.find("unit-1.so"));
    first = put(cache, "unit-1.so", "code");
    EXPECT_EQ(cache.find("unit-1.so"), first);
    EXPECT_FALSE(cache.note());
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

TEST_F(CacheTest, GivesAnArtefactAFolderOfItsOwn) {
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
  EXPECT_TRUE(fs::is_empty(root_ / "tmp"));
  EXPECT_EQ(read_text(put(cache, "unit-1.so", "whole")), "whole");
}

TEST_F(CacheTest, MakesBrokenArtefactsAnew) {
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

TEST_F(CacheTest, IsPrivateToItsUser) {
  fs::create_directories(root_);
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
  open();
  EXPECT_EQ(fs::status(root_).permissions(), fs::perms::owner_all);
  fs::permissions(root_, fs::perms::owner_all | fs::perms::group_write);
  auto refused = Cache::open(true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("others may write"), std::string::npos);
}

TEST_F(CacheTest, RefusesAnothersFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directories(root_);
  ASSERT_EQ(::chown(root_.c_str(), 12345, 12345), 0);
  auto refused = Cache::open(true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("another user"), std::string::npos);
}

TEST_F(CacheTest, RefusesWhatIsNoFolder) {
  ASSERT_TRUE(write_text(root_, "a file"));
  auto refused = Cache::open(true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("not a folder"), std::string::npos);
}

TEST_F(CacheTest, FallsBackToATemporaryFolder) {
  // Nobody, not even root, can make a folder below a file.
  ASSERT_TRUE(write_text(folder_->path() / "file", ""));
  ::setenv("INSTR_BENCH_CACHE", (folder_->path() / "file/cache").c_str(), 1);
  fs::path place;
  {
    Cache cache = open();
    ASSERT_TRUE(cache.note());
    EXPECT_NE(cache.note()->find("cannot be written"), std::string::npos);
    place = cache.folder();
    EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
    EXPECT_EQ(read_text(put(cache, "unit-1.so", "code")), "code");
  }
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(CacheTest, DisabledItTouchesNothing) {
  {
    Cache cache = open(false);
    put(cache, "unit-1.so", "code");
    EXPECT_TRUE(cache.find("unit-1.so"));
    EXPECT_TRUE(cache.note());
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

TEST_F(CacheTest, TrimKeepsWhatLiveRunsUse) {
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

}  // namespace
}  // namespace instr
