// The tree of the commit that is measured, if another one is checked out: merge-check and history
// backfill measure commits in worktrees, and no path of theirs may lead back to the checkout.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace instr {

// The names of two environment variables: the top folder of the checkout, and that of the measured
// commit. Without them, all paths stay as they are.
inline constexpr const char* kProjectVariable = "INSTR_BENCH_PROJECT";
inline constexpr const char* kTreeVariable = "INSTR_BENCH_TREE";

// Returns the same file or folder in the measured tree, if the path leads, with links followed,
// into the checkout; else the path itself.
fs::path in_measured_tree(const fs::path& path);

// Returns the same file or folder in the checkout, if the path is in the measured tree.
std::optional<fs::path> in_checkout(const fs::path& path);

// Words of the error below, and of nothing else.
inline constexpr const char* kAnotherIsMeasured =
    "is in the checked-out tree, and another commit is measured";

// An error if the path leads into the checkout. `what`: "LibTorch".
Expected<void> check_measured(
    const std::string& what, const fs::path& path,
    const std::string& advice =
        "name one outside of the project, or one that each commit's own build makes, relative to "
        "the project's top folder");

}  // namespace instr
