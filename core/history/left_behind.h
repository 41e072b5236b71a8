// Commits that a branch has left: after a merge the wrong way round, or a rewrite, they are not
// among its first parents any more.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "core/base/git.h"
#include "core/base/sqlite.h"

namespace instr {

// The branch under which their runs are kept: "main/left-behind".
std::string left_behind(const std::string& branch);

// Moves runs of commits that the branch has left there, so that no step is between commits that do
// not follow each other. `line`: the hashes of `last` and of its first parents. Returns how many
// commits were moved. All of them are or, on an error, none.
Expected<std::size_t> leave_behind(const SqlDatabase& database, const std::string& branch,
                                   const Commit& last, const std::set<std::string>& line);

}  // namespace instr
