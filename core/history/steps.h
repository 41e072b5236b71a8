// A series of an exact metric, kept as its steps: the value at the first measured commit, and at
// each that differs from the measured commit before. Pure functions. A Timeline knows which commits
// were measured, and so tells "unchanged" from "not measured".
#pragma once

#include <optional>
#include <vector>

#include "core/base/git.h"

namespace instr {

struct Step {
  Place place;
  double value = 0;

  bool operator==(const Step&) const = default;
};

using Steps = std::vector<Step>;  // sorted by place

// Returns the step whose value holds at `place`; nothing before the first.
std::optional<Step> step_at(const Steps& steps, const Place& place);

// Returns the steps with this value at `place`, whether or not it had one. `next`: the next
// measured commit, which keeps its value.
Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next);

// Returns the steps without the value at `place`. `next`: as above.
Steps without_value(const Steps& steps, const Place& place, const std::optional<Place>& next);

// Returns the steps from `first` on, a measured commit.
Steps steps_since(const Steps& steps, const Place& first);

}  // namespace instr
