// What results may hold beside their counts, where an option needs it.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/format.h"
#include "core/compare/compare.h"
#include "core/results/result_set.h"

namespace instr {

// That results lack it.
struct KeptKind {
  const char* things;  // "call paths"
  const char* option;  // with which a run keeps them: "--call-paths"

  Error missing_in(const std::string& results) const {
    return {{},
            printable(results) + ": these results have no " + things,
            std::string("measure with ") + option + ", both before and after"};
  }
};

inline constexpr KeptKind kKeptPaths{"call paths", "--call-paths"};
inline constexpr KeptKind kKeptLines{"costs of lines", "--lines"};

// An error if there are counts but not these values, by the first count: whatever else is missing
// is found when it is needed.
template <class Value>
Expected<void> check_kept(const ResultSet& results, const ValuesOf<Value>& values,
                          const KeptKind& kind) {
  for (const Measurement& one : results.results.measurements) {
    const auto* counted = std::get_if<Counted>(&one.outcome);
    if (counted == nullptr || !counted->has_count()) continue;
    if (!values) return tl::unexpected(kind.missing_in(results.name));
    TRY_ASSIGN(auto value, values(one.variant.key));
    return value ? Expected<void>() : tl::unexpected(kind.missing_in(results.name));
  }
  return {};
}

}  // namespace instr
