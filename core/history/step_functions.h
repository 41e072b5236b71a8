// In which functions a step changed the instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/history/profiles.h"
#include "core/history/read.h"
#include "core/values/attribution.h"
#include "core/values/call_tree.h"

namespace instr {

// Of many steps, quickest where those of one series follow each other.
class StepFunctions {
 public:
  explicit StepFunctions(const SqlDatabase& database) : profiles_(database) {}

  // Nothing if it is of another metric, or if one of the two sides has no functions. Throws an
  // SqlError if they are damaged.
  std::optional<Attribution> of(const RecordedStep& step);

  // The call trees of both sides; null if it is of another metric, or if one of them has none.
  std::shared_ptr<const AlignedTrees> trees_of(const RecordedStep& step);

 private:
  using Place = std::pair<std::int64_t, std::int64_t>;  // series, commit

  Profiles profiles_;
  Attributor attributor_;
  Place last_place_;
  std::vector<FunctionCost> last_;
};

}  // namespace instr
