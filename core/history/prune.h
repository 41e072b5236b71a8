// Takes the older part of a history away.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/sqlite.h"
#include "core/history/steps.h"

namespace instr {

struct Pruned {
  std::size_t runs = 0;
  std::size_t series = 0;  // of which nothing is left
};

// Removes what was measured of commits before `first`, of one branch or of all; what is left keeps
// its values. The file becomes smaller.
Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch);

}  // namespace instr
