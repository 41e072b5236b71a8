// Which folder the cache is in, and whether code may be kept there.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/error.h"

namespace instr {

// $INSTR_BENCH_CACHE, else $XDG_CACHE_HOME/instr_bench, else ~/.cache/instr_bench; nothing if
// none of them is set.
std::optional<std::filesystem::path> wanted_cache_folder();

// Others who could change the folder, or put another in its place, would choose the code that we
// run.
Expected<void> check_cache_folder(const std::filesystem::path& folder);

// Makes the folder, those above it that are missing, and what the cache keeps in it, private to
// this user. The error says why it cannot be used.
Expected<void> prepare_cache_folder(const std::filesystem::path& folder);

}  // namespace instr
