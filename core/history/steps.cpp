#include "core/history/steps.h"

#include <algorithm>
#include <iterator>

namespace instr {

namespace {

auto first_step_from(const Steps& steps, const Place& place) {
  return std::ranges::lower_bound(steps, place, {}, &Step::place);
}

}  // namespace

std::optional<Step> step_at(const Steps& steps, const Place& place) {
  const auto after = std::ranges::upper_bound(steps, place, {}, &Step::place);
  if (after == steps.begin()) return std::nullopt;
  return *std::prev(after);
}

Steps with_value(const Steps& steps, const Place& place, double value,
                 const std::optional<Place>& next) {
  const auto at_next = next ? step_at(steps, *next) : std::nullopt;
  Steps changed = steps;
  std::erase_if(changed,
                [&](const Step& step) { return step.place == place || step.place == next; });
  const auto before = step_at(changed, place);
  if (!before || before->value != value) {
    changed.insert(first_step_from(changed, place), {place, value});
  }
  if (at_next && at_next->value != value) {
    changed.insert(first_step_from(changed, *next), {*next, at_next->value});
  }
  return changed;
}

Steps without_value(const Steps& steps, const Place& place, const std::optional<Place>& next) {
  const auto at = first_step_from(steps, place);
  if (at != steps.begin()) return with_value(steps, place, std::prev(at)->value, next);
  return next ? steps_since(steps, *next) : Steps{};
}

Steps steps_since(const Steps& steps, const Place& first) {
  Steps kept;
  if (const auto held = step_at(steps, first)) kept.push_back({first, held->value});
  kept.insert(kept.end(), std::ranges::upper_bound(steps, first, {}, &Step::place), steps.end());
  return kept;
}

}  // namespace instr
