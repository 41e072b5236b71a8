// The checksum of a history. SQLite notices malformed pages, but not a flipped bit in a number or a
// text; so each transaction ends with the hash of all pages, and each opening compares it.
#pragma once

#include <filesystem>

#include "core/base/sqlite.h"

namespace instr {

// Removes the checksum, in a transaction of its own.
void unseal(const SqlDatabase& database);

// A transaction of a history, which seals what it wrote.
class HistoryTransaction {
 public:
  // Locks the database for writing.
  explicit HistoryTransaction(const SqlDatabase& database)
      : database_(database), transaction_(database) {}
  void commit();

 private:
  const SqlDatabase& database_;
  SqlTransaction transaction_;
};

// Opens a history, an SQLite database whose tables docs/HISTORY.md describes.

// "inst": tells a history from other SQLite databases.
inline constexpr int kHistoryId = 0x696e7374;
inline constexpr int kHistorySchema = 4;
inline constexpr int kSchemaWithDefinitions = 3;  // adds the checksum and the definitions of runs
inline constexpr int kSchemaWithLimits = 4;       // adds the limits of runs

// Returns the schema of an open history. Throws an SqlError.
std::int64_t read_schema(const SqlDatabase& database);

// `.instr_bench/history.db` of the project.
std::filesystem::path default_history_file();

// Opens the file. A writer creates it with its folder, if `access` permits, or upgrades an earlier
// schema; a reader changes nothing. Errors: there is no history, another database, a newer schema,
// damage.
Expected<SqlDatabase> open_history(const std::filesystem::path& file, SqlAccess access);

// An error if open_history() could not create the file. Makes its folder.
Expected<void> check_can_make_history(const std::filesystem::path& file);

}  // namespace instr
