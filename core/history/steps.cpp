#include "core/history/steps.h"

#include <algorithm>
#include <iterator>

namespace instr {

namespace {

bool is_before(const Step& step, const Place& place) { return step.place < place; }

void put(Steps& steps, const Step& step) {
  auto at = std::lower_bound(steps.begin(), steps.end(), step.place, is_before);
  steps.insert(at, step);
}

}  // namespace

std::optional<Step> step_at(const Steps& steps, const Place& place) {
  auto after =
      std::upper_bound(steps.begin(), steps.end(), place,
                       [](const Place& wanted, const Step& step) { return wanted < step.place; });
  if (after == steps.begin()) return std::nullopt;
  return *std::prev(after);
}

Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next) {
  std::optional<Step> at_next = next ? step_at(steps, *next) : std::nullopt;
  Steps changed = steps;
  std::erase_if(
      changed, [&](const Step& one) { return one.place == place || (next && one.place == *next); });
  auto before = step_at(changed, place);
  if (!before || before->value != value) put(changed, {place, value});
  if (at_next && at_next->value != value) put(changed, {*next, at_next->value});
  return changed;
}

Steps since(const Steps& steps, const Place& first) {
  auto held = step_at(steps, first);
  Steps kept;
  if (held) kept.push_back({first, held->value});
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(kept),
               [&first](const Step& one) { return one.place > first; });
  return kept;
}

}  // namespace instr
