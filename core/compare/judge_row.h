// Compares the measurements of a key, before and after, and gives the row its verdict.
#pragma once

#include <set>
#include <string>

#include "core/compare/compare.h"

namespace instr {

struct MeasurementPair {
  const Measurement* before = nullptr;  // null if that side lacks the key
  const Measurement* after = nullptr;
};

// Adds the metrics of a count, whether their values are valid or not.
void add_metrics(std::set<std::string>& names, const Counted& counted);

// At least one side of `pair` is set. `known_before`: the metrics of all earlier results; any other
// metric is newly requested, and not lost. An error if a limit that a measurement carries is
// invalid.
Expected<ComparedRow> compare_row(const std::string& key, const MeasurementPair& pair,
                                  const std::set<std::string>& known_before,
                                  const CompareOptions& options);

}  // namespace instr
