// One key of a comparison: its measurements before and after, made a row with a verdict.
#pragma once

#include <set>
#include <string>

#include "core/compare/compare.h"

namespace instr {

struct MeasurementPair {
  const Measurement* before = nullptr;  // null if that side has no such key
  const Measurement* after = nullptr;
};

// At least one of `pair` is there. `known_before`: the metrics that any of the earlier results has;
// what none has is newly asked for, and not lost. An error if a limit that a measurement carries
// cannot be parsed.
Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options);

}  // namespace instr
