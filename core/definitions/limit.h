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
  std::optional<double> percent = {};   // a percentage of the baseline's value
  std::optional<double> absolute = {};  // an amount in the metric's own unit, per iteration

  constexpr bool is_none() const { return !percent && !absolute; }
  auto operator<=>(const Limit&) const = default;
};

// Names of the metrics that a limit can be set for: all of them.
const std::vector<std::string>& limit_metrics();

// Limits by metric, as a definition has them and results carry them.
using LimitTexts = std::map<std::string, std::string>;

// Parses a percentage ("0.5%"), a number of units ("+100"), or both joined by `|` in any order: a
// change is within the limit if it is within either. "none" is no limit. The error has no place;
// its advice has an example.
Expected<Limit> parse_limit(std::string_view text);

// Parses limits on the command line: "instructions=0.5%|+100",
// "instructions=0.5%|instructions=+100", "instructions=none|allocs=+0". A part without a metric
// belongs to the metric before it.
Expected<std::map<std::string, Limit>> parse_limits(std::string_view text);

// Formats a limit as parse_limit() reads it: "0.5%|+100", "none".
std::string to_string(const Limit& limit);

// Returns the maximum change within the limit, in the metric's unit; infinite for "none".
double allowance(const Limit& limit, double baseline);

// Returns true if the growth exceeds the limit by more than a rounding error.
bool is_beyond(double growth, const std::optional<Limit>& limit, double baseline);

}  // namespace instr
