// SQLite's C interface with owners: a database, its statements, a transaction. Texts of statements
// are constants with parameters. What fails throws an SqlError, which does not leave the stage that
// uses the database: sql_stage() makes it an Error.
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

// Who reads sees all as it was at the first read, and whoever writes waits for that to end.
enum class SqlAccess { kRead, kWrite, kCreate };

// With a lock that another process holds.
struct SqlPatience {
  std::chrono::milliseconds pause{5};
  int say_after = 200;         // pauses: a second
  int give_up_after = 12'000;  // a minute
};

// A text that is bound as bytes.
struct SqlBlob {
  std::string_view bytes;
};

class SqlDatabase;

// A prepared statement. It must not outlive its database.
class SqlStatement {
 public:
  // Binds the values in order, and runs to the end.
  template <class... Values>
  void run(const Values&... values) {
    start(values...);
    while (step()) continue;
  }

  // Binds the values, and stands before the first row.
  template <class... Values>
  SqlStatement& start(const Values&... values) {
    reset();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }

  // To the next row; false after the last one.
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

  // Of the row that it is at, by column from 0.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // or bytes

 private:
  friend class SqlDatabase;
  SqlStatement(const SqlDatabase& database, std::string_view sql);

  void reset();
  void bind(int place, std::int64_t value);
  void bind(int place, int value) { bind(place, std::int64_t{value}); }
  void bind(int place, bool value) { bind(place, std::int64_t{value}); }
  void bind(int place, double value);
  void bind(int place, std::string_view text);
  void bind(int place, const char* text) { bind(place, std::string_view(text)); }  // not a bool
  void bind(int place, const SqlBlob& blob);
  template <class T>
  void bind(int place, const std::optional<T>& value) {
    if (value) bind(place, *value);  // else it stays null
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqlDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqlDatabase {
 public:
  SqlDatabase(const std::filesystem::path& file, SqlAccess access,
              const SqlPatience& patience = {});

  SqlStatement prepare(std::string_view sql) const { return {*this, sql}; }
  // A new statement with these values, before its first row.
  template <class... Values>
  SqlStatement rows(std::string_view sql, const Values&... values) const {
    SqlStatement statement = prepare(sql);
    statement.start(values...);
    return statement;
  }
  void run(const char* sql) const;                   // one or more statements
  std::int64_t integer(std::string_view sql) const;  // of the only row's only column
  std::int64_t last_id() const;                      // of the row inserted last

  const std::filesystem::path& file() const { return waiting_->file; }
  [[noreturn]] void fail(int code) const;  // throws what the code means
  // Throws, too: what is in the file cannot be.
  [[noreturn]] void fail_as_damaged(std::string_view why) const;

 private:
  // What the busy handler needs; it stays where it is.
  struct Waiting {
    std::filesystem::path file;
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

// All that is written while it lives is written at once by commit(), or not at all.
class SqlTransaction {
 public:
  // No one else writes from here on.
  explicit SqlTransaction(const SqlDatabase& database);
  ~SqlTransaction();
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;
  void commit();

 private:
  const SqlDatabase& database_;
  bool is_open_ = true;
};

// What a row refers to, of rows that were read before; throws if there is none, as in a damaged
// file.
template <class Rows>
const auto& row_of(const SqlDatabase& database, const Rows& rows,
                   const typename Rows::key_type& key) {
  const auto found = rows.find(key);
  if (found == rows.end()) database.fail_as_damaged("a row refers to one that is missing");
  return found->second;
}

template <class T>
inline constexpr bool kIsExpected = false;
template <class T>
inline constexpr bool kIsExpected<Expected<T>> = true;

// The value of `stage`, which is an Expected or becomes one.
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
