// A series of an exact metric, kept as its steps: the value at the first measured commit, and at
// each at which it differs from the one at the measured commit before. Pure functions; which
// commits were measured is known elsewhere, so that "unchanged" is not "not measured".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/git.h"

namespace instr {

struct Step {
  Place place;
  double value = 0;

  bool operator==(const Step&) const = default;
};

using Steps = std::vector<Step>;  // in their order

// The step whose value holds at `place`; nothing before the first.
std::optional<Step> step_at(const Steps& steps, const Place& place);

// With that value at `place`, whether or not it had one. `next`: the next measured commit, which
// keeps its value.
Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next);

// Of `first` and what comes later; that commit was measured.
Steps since(const Steps& steps, const Place& first);

}  // namespace instr
