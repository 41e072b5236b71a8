// Commits that a branch has left: after a rewrite, or a merge the wrong way round, they are no
// longer among its first parents.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "core/base/git.h"
#include "core/base/sqlite.h"

namespace instr {

// Returns the name of the branch that keeps their runs: "main/left-behind".
std::string left_behind_branch(const std::string& branch);

// Returns whether this is such a name.
bool is_left_behind(const std::string& branch);

// Moves the runs of commits that the branch has left to left_behind_branch(), so that each step is
// between commits that follow each other. `line`: the hashes of `last` and of its first parents.
// Moves all or, on an error, none, and returns the number of commits moved.
Expected<std::size_t> move_left_behind(const SqlDatabase& database, const std::string& branch,
                                       const Commit& last, const std::set<std::string>& line);

}  // namespace instr
