// Damaged files: each use reports what is wrong with which file, and leaves it unchanged.
#include "tests/unit/history_faults.h"

namespace instr::history_damage_test {
namespace {

using namespace testing;

constexpr std::size_t kPage = 4096;

using HistoryDamage = HistoryFaults;

TEST_F(HistoryDamage, EveryUseReportsADamagedFile) {
  fill();
  const std::string whole = text_of(file());
  open().run("PRAGMA user_version = 5");
  const std::string newer = text_of(file());
  fs::remove(file());
  SqlDatabase(file(), SqlAccess::kCreate).run("CREATE TABLE other (x)");
  const std::string other = text_of(file());
  struct Bad {
    std::string bytes;
    const char* words;
  };
  std::vector<Bad> all{{newer, "a history of schema 5"},
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
      const auto refused = use.try_on(file());
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), words);
      EXPECT_EQ(text_of(file()), bytes);
      EXPECT_FALSE(fs::exists(journal()));
    }
  }
}

TEST_F(HistoryDamage, OnlyAddingCreatesAHistory) {
  const auto expect_refused = [this](const std::string& words) {
    for (const Use& use : uses()) {
      if (use.access == SqlAccess::kCreate) continue;
      const auto refused = use.try_on(file());
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
  add(make_run(1, {{"a", 20}}));
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
  const fs::path folder = file().parent_path();
  for (const Use& use : uses()) {
    const auto refused = use.try_on(folder);
    ASSERT_FALSE(refused) << use.name;
    expect_says(refused.error(), folder, "cannot be opened");
  }
}

// A bit of each 1009th byte, in turns. Of most, SQLite's own check notices nothing.
TEST_F(HistoryDamage, EachFlippedBitIsNoticed) {
  fill();
  const std::string whole = text_of(file());
  const auto content = points();
  const Use& list = uses().front();
  const Use& add = uses()[6];
  std::size_t unnoticed = 0;
  std::size_t missed_by_sqlite = 0;
  for (std::size_t place = 0; place < whole.size(); place += 1009) {
    std::string flipped = whole;
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << (place / 1009 % 8)));
    write(file(), flipped);
    const bool is_noticed = !list.try_on(file());
    if (!is_noticed) {
      ++unnoticed;
      ASSERT_EQ(points(), content) << "byte " << place;
      continue;
    }
    EXPECT_EQ(text_of(file()), flipped);
    if (place % (1009 * 4) != 0) continue;
    EXPECT_FALSE(add.try_on(file())) << "byte " << place;
    const auto checked = sql_stage([this] {
      auto check = SqlDatabase(file(), SqlAccess::kRead).rows("PRAGMA quick_check(1)");
      return check.step() && check.text(0) == "ok";
    });
    if (checked && *checked) ++missed_by_sqlite;
  }
  // Bits of the checksum's own page, and of SQLite's counters.
  EXPECT_LE(unnoticed, kPage / 1009 + 2);
  EXPECT_GT(missed_by_sqlite, 0u);
}

TEST_F(HistoryDamage, AChangeOnPurposeIsAcceptedOnRequest) {
  add(make_run(1, {{"a", 100}}));
  const auto change = [this](const char* sql) { SqlDatabase(file(), SqlAccess::kWrite).run(sql); };
  change("UPDATE steps SET value = 101");
  const auto refused = open_history(file(), SqlAccess::kRead);
  ASSERT_FALSE(refused);
  expect_says(refused.error(), file(), "its content does not match its checksum");
  EXPECT_HAS(refused.error().advice, "UPDATE seal SET digest = NULL");
  change("UPDATE seal SET digest = NULL");
  EXPECT_EQ(steps_of("a"), (Points{{1, 101}}));
  add(make_run(2, {{"a", 101}}));  // seals it again
  change("UPDATE steps SET value = 102");
  EXPECT_FALSE(open_history(file(), SqlAccess::kRead));
}

// Unused pages keep old content, which a rollback does not restore.
TEST_F(HistoryDamage, UnusedPagesAreNoDamage) {
  fill();
  ASSERT_TRUE(prune(open(), commit(4).place(), std::nullopt));
  ASSERT_GT(open(SqlAccess::kRead).integer("PRAGMA freelist_count"), 4);
  add(make_run(5, many(5)));
  EXPECT_EQ(steps_of("key 5").front().first, 4);
}

// Inconsistent rows in intact pages.
TEST_F(HistoryDamage, DamagedRowsAreReportedAndKept) {
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
        .run(("PRAGMA foreign_keys = OFF; UPDATE seal SET digest = NULL;" + std::string(sql))
                 .c_str());
    const std::string bytes = text_of(file());
    bool is_found = false;
    for (const Use& use : uses()) {
      SCOPED_TRACE(use.name);
      write(file(), bytes);
      Expected<void> used;
      EXPECT_NO_THROW(used = use.try_on(file()));
      is_found = is_found || (!used && use.name == std::string(found_by));
      if (used) continue;
      expect_says(used.error(), file(), "truncated or damaged");
      EXPECT_EQ(text_of(file()), bytes);
    }
    EXPECT_TRUE(is_found) << found_by;
  }
}

}  // namespace
}  // namespace instr::history_damage_test
