// Finds the runs that measured the values of a history, for what else these runs say: the
// definitions, as options of a command ({"--definitions=bench.toml"}), and the limits that
// benchmarks had. Runs of earlier schemas lack them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sqlite.h"
#include "core/compare/judge.h"
#include "core/history/read.h"
#include "core/history/timeline.h"

namespace instr {

using DefinitionOptions = std::vector<std::string>;

struct RunFacts {
  DefinitionOptions definitions;
  std::shared_ptr<const LimitsOfKeys> limits;  // null: no benchmark has its own
};

// Returns what each run says, by its number. Throws an SqlError.
std::map<std::int64_t, RunFacts> read_run_facts(const SqlDatabase& database);

class RunsOfSeries {
 public:
  // Throws an SqlError.
  explicit RunsOfSeries(const SqlDatabase& database);

  const Timeline& timeline(const std::string& branch) const {
    return find_row(database_, timelines_, branch);
  }

  // Returns the options of the last run with some that measured the series: at the commit with this
  // number, if given.
  DefinitionOptions find_definitions(const HistorySeries& series,
                                     const std::optional<std::int64_t>& commit = std::nullopt);

  // Returns the limits that the key had in the last run that measured the exact series at that
  // commit, or in the run with that number. They live as long as this.
  const Limits& find_limits(const HistorySeries& series, const Place& place);
  const Limits& limits_of_run(std::int64_t run, const std::string& key);

 private:
  bool has(const Timeline::Run& run, const HistorySeries& series);

  const SqlDatabase& database_;
  std::map<std::string, Timeline> timelines_;  // by branch
  std::map<std::int64_t, RunFacts> facts_;     // by run
  const Limits defaults_ = default_limits();
  std::map<std::pair<const LimitsOfKeys*, std::string>, Limits> limits_;
  SqlStatement find_sample_;
};

}  // namespace instr
