// Bad files, disks, clocks and neighbours: an error that says what and what to do, or a wait; and
// all that was in the history is in it still.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <tuple>

#include "core/base/process.h"
#include "core/history/prune.h"
#include "core/history/read_runs.h"
#include "core/report/formats.h"
#include "core/report/history_tables.h"
#include "core/report/html_report.h"
#include "tests/unit/history_testing.h"

namespace instr::history_faults_test {
namespace {

using namespace testing;

using Points = std::vector<std::pair<int, double>>;

constexpr std::size_t kPage = 4096;
constexpr auto kRefuse = OnContradiction::kRefuse;

// What is done with a history.
struct Use {
  const char* name;
  SqlAccess access;
  std::function<Expected<void>(const SqlDatabase&)> run;

  Expected<void> of(const fs::path& file) const {
    return open_history(file, access).and_then([this](SqlDatabase&& database) {
      return run(database);
    });
  }
};

// Renders the table in all formats.
void show(const DocumentTable& table) {
  Document document{.tables = {table}};
  add_records(document, table);
  for (const ReportFormat format : document_formats()) render(format, document);
}

Expected<void> show_steps(const SqlDatabase& database) {
  auto steps = read_steps(database, {}, std::nullopt, true);
  if (!steps) return tl::unexpected(steps.error());
  auto shown = steps_table(database, *steps, {}).map(show);
  if (!shown) return shown;
  auto breaks = read_breaks(database, {});
  if (!breaks) return tl::unexpected(breaks.error());
  break_lines(*breaks);
  return {};
}

Expected<void> make_report(const SqlDatabase& database) {
  return report_of_history(database, {}, {}).map([](const ReportData& data) {
    report_page(data, "2026-01-02T03:04:05Z");
  });
}

Expected<void> make_issue(const SqlDatabase& database) {
  auto steps = unaccepted_growth(database, {}, std::nullopt, {});
  if (!steps) return tl::unexpected(steps.error());
  if (steps->empty()) return {};
  return growth_issue(database, *steps, {}).map([](auto&&) {});
}

Expected<void> merge_from(const SqlDatabase& database) {
  const auto merged = open_history(":memory:", SqlAccess::kCreate);
  auto runs = read_runs(database);
  if (!runs) return tl::unexpected(runs.error());
  return record(*merged, *runs, kRefuse).map([](auto&&) {});
}

const std::vector<Use>& uses() {
  static const std::vector<Use> all{
      {"list", SqlAccess::kRead,
       [](const SqlDatabase& database) {
         return read_series(database, {}).map([](const auto& series) {
           show(series_table(series));
         });
       }},
      {"steps", SqlAccess::kRead, show_steps},
      {"export", SqlAccess::kRead,
       [](const SqlDatabase& database) {
         return for_each_point(database, {}, [](const HistoryPoint& point) {
           show(points_table(point));
           return true;
         });
       }},
      {"report", SqlAccess::kRead, make_report},
      {"issue", SqlAccess::kRead, make_issue},
      {"merge", SqlAccess::kRead, merge_from},
      {"add", SqlAccess::kCreate,
       [](const SqlDatabase& database) {
         return record(database, {run_of(99, {{"a", 20}, {"new", 20}})}, kRefuse).map([](auto&&) {
         });
       }},
      {"prune", SqlAccess::kWrite,
       [](const SqlDatabase& database) {
         return prune(database, commit(3).place(), std::nullopt).and_then([&](auto&&) {
           return compact(database);
         });
       }},
  };
  return all;
}

// With the place, and advice.
void expect_says(const Error& error, const fs::path& file, const std::string& words) {
  EXPECT_EQ(error.where.file, file.string()) << to_string(error);
  EXPECT_NE(error.what.find(words), std::string::npos) << to_string(error);
  EXPECT_FALSE(error.advice.empty()) << to_string(error);
}

// A process of its own, as SQLite's locks are those of a process. It does its work when it is told
// to, and its messages can be read meanwhile.
class Forked {
 public:
  static constexpr int kCannot = 77;  // the exit status of work that this system does not permit

  explicit Forked(const std::function<void()>& work) {
    EXPECT_EQ(pipe(start_) | pipe(messages_), 0);
    std::fflush(stdout);
    child_ = fork();
    if (child_ == 0) run(work);
    close(start_[0]);
    close(messages_[1]);
  }
  ~Forked() { end(); }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  Forked& begin() {
    EXPECT_EQ(::write(start_[1], "!", 1), 1);
    return *this;
  }

  // What it says up to these words; all of it if it never says them.
  std::string said_until(const std::string& words) const {
    std::string said;
    char next = 0;
    while (said.find(words) == std::string::npos && read(messages_[0], &next, 1) == 1) said += next;
    return said;
  }

  // Its exit status; 1 if an expectation failed in it.
  int end() {
    if (child_ == 0) return status_;
    close(start_[1]);
    int status = 0;
    waitpid(child_, &status, 0);
    close(messages_[0]);
    child_ = 0;
    return status_ = to_exit_code(status);
  }

 private:
  [[noreturn]] void run(const std::function<void()>& work) const noexcept {
    close(start_[1]);
    dup2(messages_[1], STDERR_FILENO);
    char told = 0;
    if (read(start_[0], &told, 1) != 1) _exit(2);
    work();
    std::fflush(stdout);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }

  int start_[2] = {};
  int messages_[2] = {};
  pid_t child_ = 0;
  int status_ = 0;
};

// In a mount namespace of this process.
void mount_at(const fs::path& folder, const char* size) {
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  const int of_user = getuid() == 0 ? 0 : CLONE_NEWUSER;
  if (unshare(CLONE_NEWNS | of_user) != 0) _exit(Forked::kCannot);
  if (of_user != 0) {
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", "0 " + user + " 1");
    write("/proc/self/gid_map", "0 " + group + " 1");
  }
  const bool is_mounted =
      mount("none", "/", "none", MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount("none", folder.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  if (!is_mounted) _exit(Forked::kCannot);
}

// Up to the last block but those, so that whatever else is written does not fit.
void fill_disk(const fs::path& filler, std::size_t blocks_left) {
  std::error_code error;
  const auto space = fs::space(filler.parent_path(), error).available;
  std::ofstream(filler, std::ios::binary) << std::string(space - blocks_left * kPage, 'x');
  EXPECT_EQ(fs::space(filler.parent_path(), error).available, blocks_left * kPage);
}

class HistoryFaults : public testing::HistoryTest {
 protected:
  static std::map<std::string, double> many(int position, int keys = 20) {
    std::map<std::string, double> values;
    for (int i = 0; i < keys; ++i) {
      values[fmt::format("key {}", i)] = 20 + i + (i % 7 == position ? 5 : 0);
    }
    values[position < 3 ? "old" : "new"] = 20;
    return values;
  }

  // Some of everything that a history can have, much of it on several pages.
  void fill() const {
    std::mt19937 random(7);
    for (int position = 1; position <= 4; ++position) {
      HistoryRun run = run_of(position, many(position), "main",
                              position < 4 ? R"([["compiler","12"]])" : R"([["compiler","13"]])");
      for (int i = 0; i < 2; ++i) {
        const std::vector<double> repetitions(400, 1.5 + position);
        run.values.push_back(
            {fmt::format("time {}", i), kWall, false, 0, 1.5 + position, repetitions});
        run.outcomes.push_back({fmt::format("fails {}", i), kFailedState, std::string(5000, 'r')});
      }
      std::vector<FunctionCost> wide;
      for (int i = 0; i < 400; ++i) {
        wide.push_back({fmt::format("f{}", i), "libuser.so", static_cast<double>(random()), 1});
      }
      run.functions = [wide, usual = run.functions](const std::string& key) {
        return key == "key 1" ? Expected<std::vector<FunctionCost>>(wide) : usual(key);
      };
      add(run);
    }
  }

  // All values, with their commits, in their order.
  std::vector<std::tuple<std::string, std::string, double>> points() const {
    std::vector<std::tuple<std::string, std::string, double>> all;
    const auto read = for_each_point(open(SqlAccess::kRead), {}, [&all](const HistoryPoint& point) {
      all.emplace_back(point.series.key, point.commit.hash, point.value);
      return true;
    });
    EXPECT_TRUE(read) << to_string(read.error());
    return all;
  }

  void expect_whole() const {
    const SqlDatabase database = open(SqlAccess::kRead);
    auto check = database.prepare("PRAGMA integrity_check");
    EXPECT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
    EXPECT_EQ(database.integer("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  }

  fs::path journal() const { return file().string() + "-journal"; }

  // In a process that need not come back; skips the test if this system does not permit it.
  static void expect_in_process(const std::function<void()>& work) {
    const int status = Forked(work).begin().end();
    if (status == Forked::kCannot) GTEST_SKIP() << "this system does not permit it";
    EXPECT_EQ(status, 0);
  }
};

TEST_F(HistoryFaults, EveryUseSaysWhatIsWrongWithAFile) {
  fill();
  const std::string whole = text_of(file());
  open().run("PRAGMA user_version = 3");
  const std::string newer = text_of(file());
  fs::remove(file());
  SqlDatabase(file(), SqlAccess::kCreate).run("CREATE TABLE other (x)");
  const std::string other = text_of(file());
  struct Bad {
    std::string bytes;
    const char* words;
  };
  std::vector<Bad> all{{newer, "a history of schema 3"},
                       {other, "not a history"},
                       {std::string(5000, 'x'), "not an SQLite database"},
                       {"text", "not an SQLite database"}};
  for (const std::size_t length :
       {std::size_t{50}, std::size_t{100}, kPage - 1, kPage, kPage + 1, 2 * kPage, whole.size() / 2,
        whole.size() - kPage, whole.size() - 1}) {
    all.push_back({whole.substr(0, length), "truncated or damaged"});
  }
  for (const auto& [bytes, words] : all) {
    SCOPED_TRACE(fmt::format("{} ({} bytes)", words, bytes.size()));
    write(file(), bytes);
    for (const Use& use : uses()) {
      SCOPED_TRACE(use.name);
      const auto refused = use.of(file());
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), words);
      EXPECT_EQ(text_of(file()), bytes);
      EXPECT_FALSE(fs::exists(journal()));
    }
  }
}

TEST_F(HistoryFaults, OnlyWhatIsAddedMakesAHistory) {
  const auto expect_refused = [this](const std::string& words) {
    for (const Use& use : uses()) {
      if (use.access == SqlAccess::kCreate) continue;
      const auto refused = use.of(file());
      ASSERT_FALSE(refused) << use.name;
      expect_says(refused.error(), file(), words);
    }
  };
  expect_refused("there is no history");
  EXPECT_FALSE(fs::exists(file().parent_path()));
  fs::create_directories(file().parent_path());
  write(file(), "");
  expect_refused("this file is empty");
  EXPECT_EQ(fs::file_size(file()), 0u);
  add(run_of(1, {{"a", 20}}));
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
  const fs::path folder = file().parent_path();
  for (const Use& use : uses()) {
    const auto refused = use.of(folder);
    ASSERT_FALSE(refused) << use.name;
    expect_says(refused.error(), folder, "cannot be opened");
  }
}

// Rows that do not fit together, in pages that are as they should be.
TEST_F(HistoryFaults, DamagedInItsRowsItIsLeftAsItIs) {
  fill();
  const std::string whole = text_of(file());
  struct Damage {
    const char* sql;
    const char* found_by;  // one of the uses
  };
  for (const auto& [sql, found_by] : std::vector<Damage>{
           {"DELETE FROM commits WHERE position = 2", "merge"},
           {"DELETE FROM series WHERE metric = 'wall'", "merge"},
           {"DELETE FROM classes", "merge"},
           {"DELETE FROM functions", "steps"},
           {"DELETE FROM runs WHERE commit_id = 2", "report"},
           {"UPDATE series_sets SET members = '[[1,4000000000000000000]]' WHERE id = 1", "list"},
           {"UPDATE series_sets SET members = 'x' WHERE id = 1", "export"},
           {"UPDATE classes SET fields = 'x' WHERE id = 1", "steps"},
           {"UPDATE profiles SET functions = x'00'", "steps"},
           {"UPDATE profiles SET functions = x'00'", "prune"},
           {"UPDATE profiles SET call_tree = x'00'", "report"},
           {"UPDATE profiles SET call_tree = x'00'", "merge"},
           {"UPDATE samples SET repetitions = 'x'", "merge"}}) {
    SCOPED_TRACE(sql);
    write(file(), whole);
    SqlDatabase(file(), SqlAccess::kWrite)
        .run(("PRAGMA foreign_keys = OFF;" + std::string(sql)).c_str());
    const std::string bytes = text_of(file());
    bool is_found = false;
    for (const Use& use : uses()) {
      SCOPED_TRACE(use.name);
      write(file(), bytes);
      Expected<void> used;
      EXPECT_NO_THROW(used = use.of(file()));
      is_found = is_found || (!used && use.name == std::string(found_by));
      if (used) continue;
      expect_says(used.error(), file(), "truncated or damaged");
      EXPECT_EQ(text_of(file()), bytes);
    }
    EXPECT_TRUE(is_found) << found_by;
  }
}

TEST_F(HistoryFaults, AnotherProcessThatWritesIsWaitedForWithAMessage) {
  add(run_of(1, {{"a", 20}}));
  for (const char* lock : {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
    SCOPED_TRACE(lock);
    Forked waiter([this] {
      add(run_of(2, {{"a", 30}}));
      EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 30}}));
    });
    const SqlDatabase holder = open(SqlAccess::kWrite);
    holder.run(lock);
    waiter.begin();
    const std::string words = "waiting for another run that uses '" + file().string() + "'";
    EXPECT_NE(waiter.said_until(words).find(words), std::string::npos);
    holder.run("COMMIT");
    EXPECT_EQ(waiter.end(), 0);
  }
  expect_whole();
}

TEST_F(HistoryFaults, AnotherProcessThatGoesOnWritingIsAnError) {
  add(run_of(1, {{"a", 20}}));
  Forked waiter([this] {
    const SqlPatience little{.pause = {}, .say_after = 1, .give_up_after = 3};
    for (const auto access : {SqlAccess::kRead, SqlAccess::kWrite}) {
      const auto refused =
          sql_stage([&] { SqlDatabase(file(), access, little).run("SELECT * FROM runs"); });
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), "another process has kept it locked for a minute");
    }
  });
  const SqlDatabase holder = open(SqlAccess::kWrite);
  holder.run("BEGIN EXCLUSIVE; DELETE FROM steps");
  EXPECT_EQ(waiter.begin().end(), 0);
  holder.run("ROLLBACK");
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
}

TEST_F(HistoryFaults, AReaderSeesNothingOfWhatIsAddedMeanwhile) {
  add(run_of(1, {{"a", 20}}));
  Forked writer([this] { add(run_of(2, {{"a", 30}})); });
  {
    const SqlDatabase reader = open(SqlAccess::kRead);
    EXPECT_EQ(read_commits(reader).size(), 1u);
    const std::string words = "waiting for another run";
    EXPECT_NE(writer.begin().said_until(words).find(words), std::string::npos);
    EXPECT_EQ(read_commits(reader).size(), 1u);
  }
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 30}}));
}

TEST_F(HistoryFaults, ManyThatBeginAHistoryAtOnceMakeOne) {
  std::vector<std::unique_ptr<Forked>> writers;
  for (int position = 1; position <= 6; ++position) {
    writers.push_back(
        std::make_unique<Forked>([this, position] { add(run_of(position, many(position))); }));
  }
  for (auto& writer : writers) writer->begin();
  for (auto& writer : writers) EXPECT_EQ(writer->end(), 0);
  EXPECT_EQ(points().size(), 6u * many(1).size());
  expect_whole();
}

TEST_F(HistoryFaults, WhatMayNotBeWrittenCanBeReadAlone) {
  add(run_of(1, {{"a", 20}}));
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
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(Forked::kCannot);
    const auto expect_refused = [&](const fs::path& to, const std::string& words) {
      const auto refused = open_history(to, SqlAccess::kCreate).and_then([](SqlDatabase&& one) {
        return record(one, {run_of(2, {{"a", 30}})}, kRefuse);
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

TEST_F(HistoryFaults, OnAReadOnlyDiskCanBeRead) {
  fs::create_directories(file().parent_path());
  expect_in_process([this] {
    mount_at(file().parent_path(), "2m");
    fill();
    ASSERT_EQ(mount("none", file().parent_path().c_str(), "none", MS_REMOUNT | MS_RDONLY, nullptr),
              0);
    for (const Use& use : uses()) {
      const auto used = use.of(file());
      EXPECT_EQ(used.has_value(), use.access == SqlAccess::kRead) << use.name;
      if (!used) expect_says(used.error(), file(), "cannot be written; nothing was");
    }
    EXPECT_EQ(steps_of("old"), (Points{{1, 20}}));
  });
}

TEST_F(HistoryFaults, OnAFullDiskKeepsWhatItHas) {
  fs::create_directories(file().parent_path());
  expect_in_process([this] {
    mount_at(file().parent_path(), "2m");
    fill();
    const auto before = points();
    const fs::path filler = file().parent_path() / "filler";
    for (const std::size_t blocks_left : {0, 1, 2, 5, 10, 20}) {
      SCOPED_TRACE(blocks_left);
      fill_disk(filler, blocks_left);
      const auto refused = record(open(), {run_of(9, many(9, 2000))}, kRefuse);
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), "the disk is full; nothing was written");
      EXPECT_EQ(points(), before);
      expect_whole();
      EXPECT_FALSE(fs::exists(journal()));
      fs::remove(filler);
    }
    EXPECT_EQ(add(run_of(9, many(9, 2000))).runs, 1u);
  });
}

TEST_F(HistoryFaults, OnAFullDiskCannotBeBegunAndIsPrunedButNotMadeSmaller) {
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

TEST_F(HistoryFaults, ThatMayNotGrowKeepsWhatItHas) {
  fill();
  const auto before = points();
  expect_in_process([this] {
    std::signal(SIGXFSZ, SIG_IGN);  // as the program does
    const rlimit limit{fs::file_size(file()) + kPage, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto refused = record(open(), {run_of(9, many(9, 2000))}, kRefuse);
    ASSERT_FALSE(refused);
    expect_says(refused.error(), file(), "cannot be read or written; nothing was written");
  });
  EXPECT_EQ(points(), before);
  expect_whole();
}

// Amended after it was measured: git has the new one alone, and both are at one place.
TEST_F(HistoryFaults, ARewrittenCommitIsKeptBesideTheNewOne) {
  add(run_of(1, {{"a", 20}}));
  add(run_of(3, {{"a", 20}}));
  HistoryRun old_one = run_of(2, {{"a", 30}});
  old_one.commit.hash = std::string(40, 'e');
  HistoryRun new_one = run_of(2, {{"a", 40}});
  new_one.commit.hash = std::string(40, '1');
  add(old_one);
  add(new_one);
  const std::vector<std::tuple<std::string, std::string, double>> all{
      {"a", commit(1).hash, 20},
      {"a", new_one.commit.hash, 40},
      {"a", old_one.commit.hash, 30},
      {"a", commit(3).hash, 20}};
  EXPECT_EQ(points(), all);
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 40}, {2, 30}, {3, 20}}));
  for (const Use& use : uses()) {
    if (use.access != SqlAccess::kRead) continue;
    EXPECT_TRUE(use.of(file())) << use.name;
  }
}

// Two runs of one commit, of which the second says that it was before the first.
TEST_F(HistoryFaults, ClocksThatGoBackDoNotMoveCommits) {
  const auto timed = [](int position, const char* started, double value) {
    HistoryRun run = run_of(position, {{"a", 20.0 + position}});
    run.started = started;
    run.digest += started;
    run.values.push_back({"t", kWall, false, 0, value});
    return run;
  };
  std::vector<HistoryRun> runs{timed(2, "2026-01-01T00:00:00Z", 3),
                               timed(2, "2025-01-01T00:00:00Z", 2),
                               timed(1, "2027-01-01T00:00:00Z", 1)};
  const std::vector<std::tuple<std::string, std::string, double>> all{{"a", commit(1).hash, 21},
                                                                      {"a", commit(2).hash, 22},
                                                                      {"t", commit(1).hash, 1},
                                                                      {"t", commit(2).hash, 2},
                                                                      {"t", commit(2).hash, 3}};
  for (int round = 0; round < 2; ++round) {
    fs::remove(file());
    for (const HistoryRun& run : runs) add(run);
    EXPECT_EQ(points(), all);
    const auto data = value_of(report_of_history(open(SqlAccess::kRead), {}, {}));
    ASSERT_EQ(data.columns.size(), 2u);
    EXPECT_GT(data.columns[0].time, data.columns[1].time);
    EXPECT_EQ(data.columns[0].position, 1);
    const auto steps = value_of(read_steps(open(SqlAccess::kRead), {}, std::nullopt, false));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].before, 21);
    EXPECT_EQ(steps[0].after, 22);
    std::reverse(runs.begin(), runs.end());
  }
}

}  // namespace
}  // namespace instr::history_faults_test
