#include "core/history/schema.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/content_hash.h"
#include "core/results/baselines.h"

namespace instr {

namespace {

// Places in the first page, from https://www.sqlite.org/fileformat.html.
constexpr std::size_t kFirstFreePage = 32;
constexpr std::size_t kHeaderSize = 100;
struct Span {
  std::size_t first;
  std::size_t size;
};
// SQLite sets these at the commit: two counters of changes, and its own version.
constexpr Span kSetAtCommit[] = {{24, 4}, {92, 8}};

// The pages of a database.
class Pages {
 public:
  explicit Pages(const SqlDatabase& database)
      : bytes_(database.read_pages()),
        size_(static_cast<std::size_t>(database.integer("PRAGMA page_size"))) {
    if (size_ == 0 || bytes_.size() < std::max(size_, kHeaderSize)) {
      database.fail_as_damaged("its first page is missing");
    }
  }

  void clear_header() {
    for (const auto& [first, size] : kSetAtCommit) bytes_.replace(first, size, size, '\0');
  }

  // Pages have numbers from 1.
  void clear(std::size_t page) {
    if (has(page)) bytes_.replace((page - 1) * size_, size_, size_, '\0');
  }

  // Clears the unused pages, whose content SQLite does not restore when it rolls a transaction
  // back. Their numbers are in a chain of pages: the next one of the chain, a count, and so many
  // numbers.
  void clear_unused() {
    std::size_t chained = number_at(kFirstFreePage);
    for (std::size_t read = 0; has(chained) && read < bytes_.size() / size_; ++read) {
      const std::size_t place = (chained - 1) * size_;
      const std::size_t next = number_at(place);
      const std::size_t count = std::min(number_at(place + 4), size_ / 4 - 2);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t unused = number_at(place + 8 + 4 * i);
        if (unused != chained) clear(unused);
      }
      chained = next;
    }
  }

  std::string hash() const { return content_hash(bytes_); }

 private:
  bool has(std::size_t page) const { return page > 0 && page <= bytes_.size() / size_; }

  std::size_t number_at(std::size_t place) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      number = 256 * number + static_cast<unsigned char>(bytes_[place + i]);
    }
    return number;
  }

  std::string bytes_;
  const std::size_t size_;
};

// Returns the page of the checksum itself, which its hash leaves out; 0 if there is none.
std::int64_t find_own_page(const SqlDatabase& database) {
  return database.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'seal'");
}

std::string hash_pages(const SqlDatabase& database) {
  Pages pages(database);
  pages.clear_unused();
  pages.clear_header();
  pages.clear(static_cast<std::size_t>(find_own_page(database)));
  return pages.hash();
}

void set_digest(const SqlDatabase& database, const std::optional<std::string>& digest) {
  database.prepare("UPDATE seal SET digest = ?").run(digest);
}

// A rollback journal, SQLite's default, not a write-ahead log: the history is one file that may be
// copied, committed or kept in a CI cache at any time, and works on network volumes too. Writers
// are few and short, so readers seldom wait.
constexpr const char* kTables = R"(
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE branches (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE commits (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  position INTEGER NOT NULL,
  authored INTEGER NOT NULL,
  subject TEXT NOT NULL) STRICT;
CREATE TABLE classes (id INTEGER PRIMARY KEY, fields TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE keys (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  branch_id INTEGER NOT NULL REFERENCES branches,
  class_id INTEGER NOT NULL REFERENCES classes,
  key_id INTEGER NOT NULL REFERENCES keys,
  metric TEXT NOT NULL,
  is_exact INTEGER NOT NULL,
  UNIQUE (branch_id, class_id, key_id, metric, is_exact)) STRICT;
CREATE TABLE series_sets (id INTEGER PRIMARY KEY, members TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  branch_id INTEGER NOT NULL REFERENCES branches,
  commit_id INTEGER NOT NULL REFERENCES commits,
  set_id INTEGER NOT NULL REFERENCES series_sets,
  started TEXT NOT NULL,
  version TEXT NOT NULL,
  digest TEXT NOT NULL,
  definitions TEXT,
  limits_id INTEGER REFERENCES limit_sets,
  UNIQUE (branch_id, commit_id, digest)) STRICT;
CREATE TABLE steps (
  series_id INTEGER NOT NULL REFERENCES series,
  commit_id INTEGER NOT NULL REFERENCES commits,
  value REAL NOT NULL,
  PRIMARY KEY (series_id, commit_id)) STRICT, WITHOUT ROWID;
CREATE INDEX steps_of_commits ON steps (commit_id);
CREATE TABLE samples (
  series_id INTEGER NOT NULL REFERENCES series,
  run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  value REAL NOT NULL,
  repetitions TEXT,
  PRIMARY KEY (series_id, run_id)) STRICT, WITHOUT ROWID;
CREATE INDEX samples_of_runs ON samples (run_id);
CREATE TABLE outcomes (
  run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  key_id INTEGER NOT NULL REFERENCES keys,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (run_id, key_id)) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_of_keys ON outcomes (key_id);
CREATE TABLE functions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  library TEXT NOT NULL,
  UNIQUE (name, library)) STRICT;
CREATE TABLE profiles (
  series_id INTEGER NOT NULL,
  commit_id INTEGER NOT NULL,
  functions BLOB NOT NULL,
  call_tree BLOB,
  PRIMARY KEY (series_id, commit_id),
  FOREIGN KEY (series_id, commit_id) REFERENCES steps ON DELETE CASCADE) STRICT;

CREATE VIEW all_series AS
  SELECT series.id AS series_id, key, metric, branches.name AS branch, class_id, is_exact
  FROM series JOIN keys ON keys.id = key_id JOIN branches ON branches.id = branch_id;
CREATE VIEW all_steps AS
  SELECT all_series.*, commit_id, hash, position, authored, subject,
    lag(value) OVER (PARTITION BY series_id ORDER BY position, hash) AS before, value AS after
  FROM steps JOIN all_series USING (series_id) JOIN commits ON commits.id = commit_id;
CREATE VIEW all_samples AS
  SELECT all_series.*, run_id, hash, position, authored, subject, started, value, repetitions
  FROM samples JOIN all_series USING (series_id) JOIN runs ON runs.id = run_id
    JOIN commits ON commits.id = commit_id;
)";

constexpr const char* kLimitSets =
    "CREATE TABLE limit_sets (id INTEGER PRIMARY KEY, limits TEXT NOT NULL UNIQUE) STRICT";

// A table with one row. `digest`: null if the content is not sealed, as during VACUUM, which is no
// transaction.
constexpr const char* kSealTable =
    "CREATE TABLE seal (digest TEXT) STRICT; INSERT INTO seal VALUES (NULL);";

// Creates the tables, unless another process has done so since this one opened the file.
void create_tables(const SqlDatabase& database) {
  HistoryTransaction transaction(database);
  if (database.integer("PRAGMA application_id") == kHistoryId) return;
  database.run(kLimitSets);
  database.run(kTables);
  database.run(kSealTable);
  database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kHistoryId,
                           kHistorySchema)
                   .c_str());
  transaction.commit();
}

// SQLite reads the missing part of a truncated last page as zeros. The transaction must have read
// something already, so that no other process changes the size.
void check_last_page(const SqlDatabase& database) {
  std::error_code error;
  const auto size = fs::file_size(database.file(), error);
  const auto page = static_cast<std::uintmax_t>(database.integer("PRAGMA page_size"));
  if (!error && size % page != 0) database.fail_as_damaged("a part of its last page is missing");
}

void check_all_pages(const SqlDatabase& database) {
  for (const auto& row : database.rows("PRAGMA quick_check(1)")) {
    const std::string text = row.text(0);
    if (text != "ok") database.fail_as_damaged(text.substr(text.find('\n') + 1));  // no headline
  }
}

// Compares the content with its checksum, in a transaction of the caller. Returns false if there is
// none to compare with; throws an SqlError if they differ. `has_table`: the schema has kSealTable.
bool check_seal(const SqlDatabase& database, bool has_table) {
  if (!has_table && find_own_page(database) == 0) return false;
  auto seal = database.rows("SELECT digest FROM seal");
  if (!seal.step()) database.fail_as_damaged("its checksum is missing");
  if (seal.is_null(0)) return false;
  if (seal.text(0) == hash_pages(database)) return true;
  database.fail_as_damaged(
      "its content does not match its checksum",
      "restore a copy or, if you or another program changed it and it is right as it is: sqlite3 "
      "FILE 'UPDATE seal SET digest = NULL'");
}

// Checks the content of a history in a transaction. `is_writer`: a writer reads few pages, so it
// would not notice most damage of a history without a checksum, and what it adds may be lost.
void check_content(const SqlDatabase& database, bool is_writer) {
  if (!check_seal(database, read_schema(database) >= kSchemaWithDefinitions) && is_writer) {
    check_all_pages(database);
  }
  check_last_page(database);
}

Expected<void> check_kind(const SqlDatabase& database) {
  const std::string file = database.file().string();
  if (database.integer("PRAGMA page_count") == 0) {
    return fail_at({file}, "this file is empty, so there is no history",
                   "restore a copy, or make one with instr_bench history add RESULTS");
  }
  if (database.integer("PRAGMA application_id") != kHistoryId) {
    return fail_at({file}, "this database is not a history of instr_bench", "name another file");
  }
  const auto schema = read_schema(database);
  if (schema > 0 && schema <= kHistorySchema) return {};
  return fail_at(
      {file},
      fmt::format("a history of schema {}; this instr_bench knows {}", schema, kHistorySchema),
      "use the instr_bench that wrote it, or a newer one");
}

// Does what later schemas did: 2 renamed a metric, 3 added the checksum and the definitions, 4 the
// limits.
void upgrade(const SqlDatabase& database) {
  if (read_schema(database) == kHistorySchema) return;
  HistoryTransaction transaction(database);
  const auto schema = read_schema(database);
  if (schema == kHistorySchema) return;  // another process has upgraded it
  if (schema < 2) database.run("UPDATE series SET metric = 'instructions' WHERE metric = 'ir'");
  if (schema < kSchemaWithDefinitions) {
    database.run(kSealTable);
    database.run("ALTER TABLE runs ADD COLUMN definitions TEXT");
  }
  database.run(kLimitSets);
  database.run("ALTER TABLE runs ADD COLUMN limits_id INTEGER REFERENCES limit_sets");
  database.run(fmt::format("PRAGMA user_version = {}", kHistorySchema).c_str());
  transaction.commit();
}

Expected<void> find_or_make_folder(const fs::path& file, SqlAccess access) {
  std::error_code error;
  if (fs::exists(file, error)) return {};
  if (access != SqlAccess::kCreate) {
    return fail_at({file.string()}, "there is no history",
                   "make one with instr_bench history add RESULTS");
  }
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (!error) return {};
  return fail_at({file.string()}, "cannot make its folder: " + error.message(),
                 "name another file");
}

}  // namespace

void unseal(const SqlDatabase& database) {
  SqlTransaction transaction(database);
  set_digest(database, std::nullopt);
  transaction.commit();
}

void HistoryTransaction::commit() {
  set_digest(database_, hash_pages(database_));
  transaction_.commit();
}

std::int64_t read_schema(const SqlDatabase& database) {
  return database.integer("PRAGMA user_version");
}

fs::path default_history_file() { return project_folder() / "history.db"; }

Expected<void> check_can_make_history(const fs::path& file) {
  TRY(find_or_make_folder(file, SqlAccess::kCreate));
  const fs::path folder = fs::absolute(file).parent_path();
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return fail_at({file.string()}, std::string("cannot be made: ") + std::strerror(errno),
                 "name another file");
}

Expected<SqlDatabase> open_history(const fs::path& file, SqlAccess access) {
  TRY(find_or_make_folder(file, access));
  return sql_stage([&]() -> Expected<SqlDatabase> {
    SqlDatabase database(file, access);
    const bool is_empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
    if (is_empty && access == SqlAccess::kCreate) create_tables(database);
    TRY(check_kind(database));
    if (access == SqlAccess::kRead) {
      check_content(database, /*is_writer=*/false);  // part of the reader's transaction
    } else {
      database.run("BEGIN");
      check_content(database, /*is_writer=*/true);
      database.run("COMMIT");
      upgrade(database);
    }
    return database;
  });
}

}  // namespace instr
