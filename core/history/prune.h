// Removes the older part of a history.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/sqlite.h"
#include "core/history/steps.h"

namespace instr {

struct Pruned {
  std::size_t runs = 0;
  std::size_t series = 0;  // series left without any value
};

// Removes the runs of commits before `first`, of one branch or of all. Later commits keep their
// values.
Expected<Pruned> prune(const SqlDatabase& database, const Place& first,
                       const std::optional<std::string>& branch);

// Shrinks the file to its content, which meanwhile needs as much space again.
Expected<void> compact(const SqlDatabase& database);

}  // namespace instr
