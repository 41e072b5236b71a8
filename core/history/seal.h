// The checksum of a history. SQLite notices malformed pages, but not a flipped bit in a number or a
// text; so each transaction ends with the hash of all pages, and each opening compares it.
#pragma once

#include "core/base/sqlite.h"

namespace instr {

// A table with one row. `digest`: null if the content is not sealed, as during VACUUM, which is no
// transaction.
inline constexpr const char* kSealTable =
    "CREATE TABLE seal (digest TEXT) STRICT; INSERT INTO seal VALUES (NULL);";

// Compares the content with its checksum, in a transaction of the caller. Returns false if there is
// none to compare with; throws an SqlError if they differ. `has_table`: the schema has kSealTable.
bool check_seal(const SqlDatabase& database, bool has_table);

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

}  // namespace instr
