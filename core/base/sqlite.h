// SQLite's C interface with owners: a database, its statements, a transaction. Texts of statements
// are constants with parameters. Failures throw an SqlError, which sql_stage() converts to an
// Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace instr {

struct SqlError {
  Error error;
};

// Readers see a snapshot taken at their first read; writers wait for them.
enum class SqlAccess { kRead, kWrite, kCreate };

// How to wait for a lock that another process holds.
struct SqlPatience {
  std::chrono::milliseconds pause{5};
  int say_after = 200;         // pauses: a second
  int give_up_after = 12'000;  // pauses: a minute
};

// Bytes to bind, unlike text.
struct SqlBlob {
  std::string_view bytes;
};

class SqlDatabase;

// A prepared statement. It must not outlive its database.
class SqlStatement {
 public:
  // Binds the values in order, and runs the statement to its end.
  template <class... Values>
  void run(const Values&... values) {
    start(values...);
    while (step()) continue;
  }

  // Binds the values in order; the first step() goes to the first row.
  template <class... Values>
  SqlStatement& start(const Values&... values) {
    reset();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }

  // Goes to the next row; returns false after the last one.
  bool step();

  // The rows that follow: for (const auto& row : statement.start(values...)).
  class Rows {
   public:
    explicit Rows(SqlStatement& statement) : statement_(statement), has_row_(statement.step()) {}
    const SqlStatement& operator*() const { return statement_; }
    void operator++() { has_row_ = statement_.step(); }
    bool operator==(std::default_sentinel_t) const { return !has_row_; }

   private:
    SqlStatement& statement_;
    bool has_row_;
  };
  Rows begin() { return Rows(*this); }
  std::default_sentinel_t end() const { return {}; }

  // Columns of the current row, from 0.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // reads bytes too

 private:
  friend class SqlDatabase;
  SqlStatement(const SqlDatabase& database, std::string_view sql);

  void reset();
  void bind(int place, std::int64_t value);
  void bind(int place, int value) { bind(place, std::int64_t{value}); }
  void bind(int place, bool value) { bind(place, std::int64_t{value}); }
  void bind(int place, double value);
  void bind(int place, std::string_view text);
  // A `const char*` would convert to bool without this overload.
  void bind(int place, const char* text) { bind(place, std::string_view(text)); }
  void bind(int place, const SqlBlob& blob);
  template <class T>
  void bind(int place, const std::optional<T>& value) {
    if (value) bind(place, *value);  // an absent value stays null
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqlDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqlDatabase {
 public:
  SqlDatabase(const fs::path& file, SqlAccess access, const SqlPatience& patience = {});

  SqlStatement prepare(std::string_view sql) const { return {*this, sql}; }
  // A new statement with these values, before its first row.
  template <class... Values>
  SqlStatement rows(std::string_view sql, const Values&... values) const {
    SqlStatement statement = prepare(sql);
    statement.start(values...);
    return statement;
  }
  void run(const char* sql) const;                   // one or more statements
  std::int64_t integer(std::string_view sql) const;  // the only column of the only row
  std::int64_t last_id() const;                      // the id of the row inserted last
  std::string read_pages() const;                    // all, with what this transaction wrote

  const fs::path& file() const { return waiting_->file; }
  [[noreturn]] void fail(int code) const;  // throws the error that the code stands for
  // Throws an error for impossible content of the file. `advice`: empty for the usual one.
  [[noreturn]] void fail_as_damaged(std::string_view why, std::string_view advice = {}) const;

 private:
  // The argument of the busy handler; its address must not change.
  struct Waiting {
    fs::path file;
    SqlPatience patience;
  };
  static int wait_for_lock(void* waiting, int calls);

  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<const Waiting> waiting_;
  std::unique_ptr<sqlite3, Close> database_;
  friend class SqlStatement;
};

// A transaction: all writes take effect at commit(), or not at all.
class SqlTransaction {
 public:
  // Locks the database for writing.
  explicit SqlTransaction(const SqlDatabase& database);
  ~SqlTransaction();
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;
  void commit();

 private:
  const SqlDatabase& database_;
  bool is_open_ = true;
};

// Finds the row that another row refers to; throws if it is missing, as in a damaged file.
template <class Rows>
const auto& find_row(const SqlDatabase& database, const Rows& rows,
                     const typename Rows::key_type& key) {
  const auto row = rows.find(key);
  if (row == rows.end()) database.fail_as_damaged("a row refers to a missing row");
  return row->second;
}

template <class T>
inline constexpr bool kIsExpected = false;
template <class T>
inline constexpr bool kIsExpected<Expected<T>> = true;

// Runs a stage that uses a database; returns its value, or the error of an SqlError.
template <class Stage>
auto sql_stage(Stage stage) {
  using Value = std::invoke_result_t<Stage>;
  using Result = std::conditional_t<kIsExpected<Value>, Value, Expected<Value>>;
  try {
    if constexpr (std::is_void_v<Value>) {
      stage();
      return Result{};
    } else {
      return Result(stage());
    }
  } catch (const SqlError& failed) {
    return Result(tl::unexpected(failed.error));
  }
}

}  // namespace instr
