// Comparisons of a single key for tests.
#pragma once

#include "core/compare/compare.h"
#include "tests/testing.h"

namespace instr::testing {

// Returns the only row of a comparison; the measurements have the key "k".
inline ComparedRow make_row(std::vector<Measurement> first, std::vector<Measurement> second,
                            const CompareOptions& options = {}) {
  auto comparison = compare(before(std::move(first)), after(std::move(second)), options);
  EXPECT_TRUE(comparison && comparison->rows.size() == 1);
  return comparison && !comparison->rows.empty() ? comparison->rows.front() : ComparedRow{};
}

inline ComparedRow make_row(double first, double second, const CompareOptions& options = {}) {
  return make_row({counted("k", first)}, {counted("k", second)}, options);
}

}  // namespace instr::testing
