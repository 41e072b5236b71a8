// One key of a comparison: its measurements before and after, as a row with a verdict.
#pragma once

#include <set>
#include <string>

#include "core/compare/compare.h"

namespace instr {

struct MeasurementPair {
  const Measurement* before = nullptr;  // null if that side lacks the key
  const Measurement* after = nullptr;
};

// At least one of `pair` is set. `known_before`: the metrics that any of the earlier results has;
// any other is newly requested, and not lost. An error if a limit that a measurement carries cannot
// be parsed.
Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options);

}  // namespace instr
