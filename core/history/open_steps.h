// Steps of which it is not yet known which commit made them: others lie between it and the measured
// commit before.
#pragma once

#include <string>
#include <vector>

#include "core/base/sqlite.h"

namespace instr {

// Hashes of two commits, between which a value changed and none was measured.
struct OpenStep {
  std::string before;
  std::string after;

  auto operator<=>(const OpenStep&) const = default;
};

// Of the exact series of a branch; each pair once, in the order of commits.
Expected<std::vector<OpenStep>> open_steps(const SqlDatabase& database, const std::string& branch);

// Whether there is a run of this commit.
Expected<bool> is_measured(const SqlDatabase& database, const std::string& branch,
                           const std::string& hash);

}  // namespace instr
