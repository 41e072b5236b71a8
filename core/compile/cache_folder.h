// The cache's folder, and whether code may be kept there.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"

namespace instr {

// $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; nothing if
// none of them is set.
std::optional<std::filesystem::path> configured_cache_folder();

// An error if others could change or replace the folder, and thereby choose the code that we run.
Expected<void> check_cache_folder(const std::filesystem::path& folder);

// Makes the folder, missing ones above it, and the cache's layout in it, private to this user. The
// error says why it cannot be used.
Expected<void> prepare_cache_folder(const std::filesystem::path& folder);

}  // namespace instr
