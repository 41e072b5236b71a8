// The cache's file operations: checksums and small texts, in folders that belong to this user
// alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace instr {

// Returns the content of a small file; nothing if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

Expected<void> write_text(const std::filesystem::path& file, std::string_view text);

// A folder in an artefact that users of the artefact fill, such as a nested cache.
inline constexpr const char* kUnsealedName = "unsealed";

// Writes `.sum` into the folder: size and hash of each file in it, except in kUnsealedName.
Expected<void> seal_folder(const std::filesystem::path& folder);

// Returns true if these files are unchanged since they were sealed.
bool is_whole(const std::filesystem::path& folder);

// Records in `.sum`'s modification time that the folder was used now.
void touch_folder(const std::filesystem::path& folder);

struct FolderUse {
  std::filesystem::path folder;
  std::filesystem::file_time_type last_use;
  std::uint64_t bytes = 0;
};
FolderUse read_folder_use(const std::filesystem::path& folder);

// Returns $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; nothing
// if none of these variables is set.
std::optional<std::filesystem::path> configured_cache_folder();

// Fails if others could change or replace the folder, and thereby choose the code that we run, or
// if it contains something and is no cache.
Expected<void> check_cache_folder(const std::filesystem::path& folder);

// Makes the folder, if it is missing, with missing parent folders, and the cache's layout in it.
// All that it makes is private to this user; what exists keeps its mode.
Expected<void> prepare_cache_folder(const std::filesystem::path& folder);

}  // namespace instr
