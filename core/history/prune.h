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
// its values.
Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch);

// Makes the file as small as what is in it; that takes as much space again while it lasts.
Expected<void> compact(const SqlDatabase& database);

}  // namespace instr
