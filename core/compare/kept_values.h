// Data beside counts that only some results have, and that an option needs.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/results/result_set.h"

namespace instr {

struct KeptKind {
  const char* things;  // "call paths"
  const char* option;  // the option of a run that keeps them: "--call-paths"

  // Returns the error for results that lack this data.
  Error missing_in(const std::string& results) const {
    return {{},
            printable(results) + ": these results have no " + things,
            std::string("measure with ") + option + ", both before and after"};
  }
};

inline constexpr KeptKind kKeptPaths{"call paths", "--call-paths"};
inline constexpr KeptKind kKeptLines{"costs of lines", "--lines"};

// An error if the first count lacks these values. Other counts are checked when they are needed.
template <class Value>
Expected<void> check_kept(const ResultSet& results, const ValuesOf<Value>& values,
                          const KeptKind& kind) {
  for (const Measurement& measurement : results.results.measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr || !counted->has_count()) continue;
    if (!values) return fail(kind.missing_in(results.name));
    TRY_ASSIGN(auto value, values(measurement.variant.key));
    return value ? Expected<void>() : tl::unexpected(kind.missing_in(results.name));
  }
  return {};
}

}  // namespace instr
