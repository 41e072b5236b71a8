// How far a metric may move before the gate fails: "0.5%", "+100", "0.5%|+100", "none".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace instr {

// If neither is set, the metric may move by any amount.
struct Limit {
  std::optional<double> percent = {};   // of the baseline's value
  std::optional<double> absolute = {};  // in the metric's own unit, per iteration

  constexpr bool is_none() const { return !percent && !absolute; }
  auto operator<=>(const Limit&) const = default;
};

// Metrics that a limit can be set for: all of them.
const std::vector<std::string>& limit_metrics();

// One percentage ("0.5%"), one number of units ("+100"), or both joined by `|` in any order: a
// change is within the limit if it is within either. "none" is no limit. The error has no place;
// its advice has an example.
Expected<Limit> parse_limit(std::string_view text);

// For the command line: "instructions=0.5%|+100", "instructions=0.5%|instructions=+100",
// "instructions=none|allocs=+0"; a part without a metric belongs to the metric before it.
Expected<std::map<std::string, Limit>> parse_limits(std::string_view text);

// As parse_limit() takes it: "0.5%|+100", "none".
std::string to_string(const Limit& limit);

// The greatest change, in the metric's unit, that is within the limit; infinite for "none".
double allowance(const Limit& limit, double baseline);

// Just at the limit is within it, whatever the last bit of the percentage says.
bool is_beyond(double growth, const std::optional<Limit>& limit, double baseline);

}  // namespace instr
