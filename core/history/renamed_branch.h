// Branches that were renamed, such as master to main: their series continue under the new name.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/base/sqlite.h"

namespace instr {

// Returns the branch that a branch without runs may have been before: the one whose last measured
// commit is the newest in `line`, the hashes of a commit of the new branch and of its first
// parents.
Expected<std::optional<std::string>> find_former_name(const SqlDatabase& database,
                                                      const std::string& branch,
                                                      const std::set<std::string>& line);

// Gives a branch, with what it has left behind, a name that no branch of the history has.
Expected<void> rename_branch(const SqlDatabase& database, const std::string& former,
                             const std::string& name);

}  // namespace instr
