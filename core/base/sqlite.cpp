#include "core/base/sqlite.h"

#include <sqlite3.h>

#include <thread>

#include "core/base/format.h"
#include "core/base/output.h"

namespace instr {

namespace {

// Readers may write, too: the next process to open the file rolls back what a killed writer left.
int open_flags(SqlAccess access) {
  const int create = access == SqlAccess::kCreate ? SQLITE_OPEN_CREATE : 0;
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | create;
}

struct Meaning {
  int code;  // primary
  const char* what;
  const char* advice;
};

constexpr const char* kDamaged = "this database is truncated or damaged; nothing was written";
constexpr const char* kRestore = "restore a copy, or save what can be read: sqlite3 FILE .recover";

constexpr Meaning kMeanings[] = {
    {SQLITE_NOTADB, "this is not an SQLite database", "name another file"},
    {SQLITE_CORRUPT, kDamaged, kRestore},
    {SQLITE_CONSTRAINT, kDamaged, kRestore},  // this program violates no constraint
    {SQLITE_BUSY, "another process has kept it locked for a minute; nothing was written",
     "end that process, or try again later"},
    {SQLITE_READONLY, "cannot be written; nothing was written",
     "make the file and its folder writable, or name another file"},
    {SQLITE_FULL, "the disk is full; nothing was written", "free some space, then try again"},
    {SQLITE_CANTOPEN, "cannot be opened",
     "name a file that you may read and write, in a folder that exists"},
    {SQLITE_IOERR, "cannot be read or written; nothing was written",
     "check the disk, your quota and ulimit -f; on a network volume, "
     "keep the file on a local one"},
};

}  // namespace

// `calls`: how often SQLite called it before for the same lock.
int SqlDatabase::wait_for_lock(void* waiting, int calls) {
  const auto& [file, patience] = *static_cast<const Waiting*>(waiting);
  if (calls >= patience.give_up_after) return 0;
  if (calls == patience.say_after) {
    print_message("waiting for another run that uses '" + file.string() + "'\n");
  }
  std::this_thread::sleep_for(patience.pause);
  return 1;
}

void SqlDatabase::fail(int code) const {
  const std::string said = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  const std::string detail = "SQLite: " + printable(said);
  for (const Meaning& known : kMeanings) {
    if ((code & 0xff) != known.code) continue;
    throw SqlError{
        {{file().string()}, std::string(known.what) + " (" + detail + ")", known.advice}};
  }
  throw SqlError{{{file().string()}, detail, ""}};
}

void SqlDatabase::fail_as_damaged(std::string_view why, std::string_view advice) const {
  throw SqlError{{{file().string()},
                  std::string(kDamaged) + " (" + printable(why) + ")",
                  std::string(advice.empty() ? kRestore : advice)}};
}

void SqlDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

SqlDatabase::SqlDatabase(const fs::path& file, SqlAccess access, const SqlPatience& patience)
    : waiting_(std::make_unique<const Waiting>(Waiting{file, patience})) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &opened, open_flags(access), nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_handler(opened, wait_for_lock, const_cast<Waiting*>(waiting_.get()));
  // The content of the file must not run functions that this program does not call.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  run("PRAGMA foreign_keys = ON");
  if (access == SqlAccess::kRead) run("PRAGMA query_only = ON; BEGIN");
}

void SqlDatabase::run(const char* sql) const {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t SqlDatabase::integer(std::string_view sql) const {
  SqlStatement statement = prepare(sql);
  return statement.start().step() ? statement.integer(0) : 0;
}

std::int64_t SqlDatabase::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

std::string SqlDatabase::read_pages() const {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> pages(
      sqlite3_serialize(database_.get(), "main", &size, 0), sqlite3_free);
  if (!pages) fail(SQLITE_NOMEM);
  return {reinterpret_cast<const char*>(pages.get()), static_cast<std::size_t>(size)};
}

void SqlStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqlStatement::SqlStatement(const SqlDatabase& database, std::string_view sql)
    : database_(&database) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v2(database.database_.get(), sql.data(),
                                      static_cast<int>(sql.size()), &made, nullptr);
  statement_.reset(made);
  if (code != SQLITE_OK) database.fail(code);
}

void SqlStatement::reset() {
  sqlite3_reset(statement_.get());  // step() has reported the error
  sqlite3_clear_bindings(statement_.get());
}

bool SqlStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  sqlite3_reset(statement_.get());  // releases its lock
  return false;
}

bool SqlStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t SqlStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqlStatement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string SqlStatement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
}

void SqlStatement::bind(int place, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), place, value);
}

void SqlStatement::bind(int place, double value) {
  sqlite3_bind_double(statement_.get(), place, value);
}

void SqlStatement::bind(int place, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), place, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}

void SqlStatement::bind(int place, const SqlBlob& blob) {
  sqlite3_bind_blob64(statement_.get(), place, blob.bytes.data(), blob.bytes.size(),
                      SQLITE_TRANSIENT);
}

SqlTransaction::SqlTransaction(const SqlDatabase& database) : database_(database) {
  database.run("BEGIN IMMEDIATE");
}

SqlTransaction::~SqlTransaction() {
  if (!is_open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const SqlError&) {
    return;  // the error has rolled it back already
  }
}

void SqlTransaction::commit() {
  database_.run("COMMIT");
  is_open_ = false;
}

}  // namespace instr
