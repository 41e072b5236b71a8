// Finds the definitions that the values of a history were measured with, as options of a command:
// {"--definitions=bench.toml"}. Runs of earlier schemas do not say them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sqlite.h"
#include "core/history/read.h"
#include "core/history/timeline.h"

namespace instr {

using DefinitionOptions = std::vector<std::string>;

// Returns the options of each run that has some, by its number. Throws an SqlError.
std::map<std::int64_t, DefinitionOptions> read_definitions(const SqlDatabase& database);

class DefinitionsOfSeries {
 public:
  // Throws an SqlError.
  explicit DefinitionsOfSeries(const SqlDatabase& database);

  // Returns the options of the last run that measured the series: at the commit with this number,
  // if given; else at the last commit.
  DefinitionOptions find(const HistorySeries& series,
                         const std::optional<std::int64_t>& commit = std::nullopt);

 private:
  struct Run {
    std::int64_t id = 0;
    std::int64_t commit = 0;
    std::string branch;
    SeriesSet measured;  // exact series
    DefinitionOptions options;
  };
  bool has(const Run& run, const HistorySeries& series);

  std::vector<Run> runs_;  // with options; the last commit first, and its last run first
  SqlStatement find_sample_;
};

}  // namespace instr
