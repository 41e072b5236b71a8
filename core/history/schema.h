// The tables of a history (docs/HISTORY.md), and how its file is opened.
#pragma once

#include <filesystem>

#include "core/base/sqlite.h"

namespace instr {

// "inst": tells a history from other SQLite databases.
inline constexpr int kHistoryId = 0x696e7374;
inline constexpr int kHistorySchema = 2;

// `.instr_bench/history.db` of the project.
std::filesystem::path usual_history();

// Errors: no history there (unless it may be created, with its folder), another database, a newer
// schema.
Expected<SqlDatabase> open_history(const std::filesystem::path& file, SqlAccess access);

}  // namespace instr
