// Histories that cannot be written: permissions, read-only and full disks, limits.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/unit/forked.h"
#include "tests/unit/history_faults.h"

namespace instr::history_disk_test {
namespace {

using namespace testing;

constexpr std::size_t kPage = 4096;
constexpr auto kRefuse = OnContradiction::kRefuse;

// Mounts an empty disk in a mount namespace of this process.
void mount_at(const fs::path& folder, const char* size) {
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  const int user_flag = getuid() == 0 ? 0 : CLONE_NEWUSER;
  if (unshare(CLONE_NEWNS | user_flag) != 0) _exit(Forked::kNotPermitted);
  if (user_flag != 0) {
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", "0 " + user + " 1");
    write("/proc/self/gid_map", "0 " + group + " 1");
  }
  const bool is_mounted =
      mount("none", "/", "none", MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount("none", folder.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  if (!is_mounted) _exit(Forked::kNotPermitted);
}

// Fills the disk up to that many blocks.
void fill_disk(const fs::path& filler, std::size_t blocks_left) {
  std::error_code error;
  const auto space = fs::space(filler.parent_path(), error).available;
  std::ofstream(filler, std::ios::binary) << std::string(space - blocks_left * kPage, 'x');
  EXPECT_EQ(fs::space(filler.parent_path(), error).available, blocks_left * kPage);
}

class HistoryDisk : public HistoryFaults {
 protected:
  // Runs the work in another process; skips the test if this system does not permit it.
  static void expect_in_process(const std::function<void()>& work) {
    const int status = Forked(work).begin().end();
    if (status == Forked::kNotPermitted) GTEST_SKIP() << "this system does not permit it";
    EXPECT_EQ(status, 0);
  }
};

TEST_F(HistoryDisk, AReadOnlyFileCanBeRead) {
  add(make_run(1, {{"a", 20}}));
  const std::string before = text_of(file());
  const fs::path folder = file().parent_path();
  const auto own = [&](const fs::path& path) {
    if (getuid() == 0) {
      EXPECT_EQ(chown(path.c_str(), 65534, 65534), 0);
    }
  };
  own(folder_.path());
  own(folder);
  own(file());
  expect_in_process([&] {  // root may write everywhere
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(Forked::kNotPermitted);
    const auto expect_refused = [&](const fs::path& to, const std::string& words) {
      const auto refused =
          open_history(to, SqlAccess::kCreate).and_then([](SqlDatabase&& database) {
            return record(database, {make_run(2, {{"a", 30}})}, kRefuse);
          });
      ASSERT_FALSE(refused) << words;
      expect_says(refused.error(), to, words);
    };
    ASSERT_EQ(chmod(file().c_str(), 0400), 0);
    expect_refused(file(), "cannot be written; nothing was");
    EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
    ASSERT_EQ(chmod(file().c_str(), 0), 0);
    expect_refused(file(), "cannot be opened");
    ASSERT_EQ(chmod(file().c_str(), 0600), 0);
    ASSERT_EQ(chmod(folder.c_str(), 0500), 0);
    expect_refused(file(), "cannot be written; nothing was");
    EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
    expect_refused(folder / "new.db", "cannot be opened");
    expect_refused(folder / "new" / "history.db", "Permission denied");
    ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  });
  EXPECT_EQ(text_of(file()), before);
}

TEST_F(HistoryDisk, AReadOnlyDiskCanBeRead) {
  fs::create_directories(file().parent_path());
  expect_in_process([this] {
    mount_at(file().parent_path(), "2m");
    fill();
    ASSERT_EQ(mount("none", file().parent_path().c_str(), "none", MS_REMOUNT | MS_RDONLY, nullptr),
              0);
    for (const Use& use : uses()) {
      const auto used = use.try_on(file());
      EXPECT_EQ(used.has_value(), use.access == SqlAccess::kRead) << use.name;
      if (!used) expect_says(used.error(), file(), "cannot be written; nothing was");
    }
    EXPECT_EQ(steps_of("old"), (Points{{1, 20}}));
  });
}

TEST_F(HistoryDisk, AFullDiskChangesNothing) {
  fs::create_directories(file().parent_path());
  expect_in_process([this] {
    mount_at(file().parent_path(), "2m");
    fill();
    const auto before = points();
    const fs::path filler = file().parent_path() / "filler";
    for (const std::size_t blocks_left : {0, 1, 2, 5, 10, 20}) {
      SCOPED_TRACE(blocks_left);
      fill_disk(filler, blocks_left);
      const auto refused = record(open(), {make_run(9, many(9, 2000))}, kRefuse);
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), "the disk is full; nothing was written");
      EXPECT_EQ(points(), before);
      expect_whole();
      EXPECT_FALSE(fs::exists(journal()));
      fs::remove(filler);
    }
    EXPECT_EQ(add(make_run(9, many(9, 2000))).runs, 1u);
  });
}

TEST_F(HistoryDisk, AFullDiskPermitsPruningOnly) {
  fs::create_directories(file().parent_path());
  expect_in_process([this] {
    mount_at(file().parent_path(), "2m");
    const fs::path filler = file().parent_path() / "filler";
    fill_disk(filler, 0);
    const auto refused = open_history(file(), SqlAccess::kCreate);
    ASSERT_FALSE(refused);
    expect_says(refused.error(), file(), "the disk is full; nothing was written");
    fs::remove(filler);
    fill();
    fill_disk(filler, fs::file_size(file()) / kPage / 2);
    const SqlDatabase database = open(SqlAccess::kWrite);
    const auto pruned = value_of(prune(database, commit(2).place(), std::nullopt));
    EXPECT_EQ(pruned.runs, 1u);
    const auto compacted = compact(database);
    ASSERT_FALSE(compacted);
    expect_says(compacted.error(), file(), "the disk is full");
    EXPECT_EQ(open(SqlAccess::kRead).integer("SELECT count(*) FROM runs"), 3);
    expect_whole();
  });
}

TEST_F(HistoryDisk, ALimitOfFileSizesChangesNothing) {
  fill();
  const auto before = points();
  expect_in_process([this] {
    std::signal(SIGXFSZ, SIG_IGN);  // as the program does
    const rlimit limit{fs::file_size(file()) + kPage, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto refused = record(open(), {make_run(9, many(9, 2000))}, kRefuse);
    ASSERT_FALSE(refused);
    expect_says(refused.error(), file(), "cannot be read or written; nothing was written");
  });
  EXPECT_EQ(points(), before);
  expect_whole();
}

}  // namespace
}  // namespace instr::history_disk_test
