// Puts runs into the tables of a history: the one place that writes series, steps and samples.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/history/dictionary.h"
#include "core/history/record.h"
#include "core/history/steps_table.h"
#include "core/history/timeline.h"

namespace instr {

// Within a transaction of the caller's. Throws SqlErrors.
class RunWriter {
 public:
  RunWriter(const SqlDatabase& database, OnContradiction on_contradiction);

  Expected<void> add(const HistoryRun& run);
  const Recorded& recorded() const { return recorded_; }

 private:
  struct Where {
    std::int64_t branch = 0;
    std::int64_t commit = 0;
    Place place;
    Timeline& timeline;
  };

  std::int64_t commit_number(const Commit& commit);
  Timeline& timeline_of(std::int64_t branch);
  Expected<std::vector<std::int64_t>> series_of(const HistoryRun& run, std::int64_t branch);
  std::int64_t series_number(const RunValue& value, std::int64_t branch, std::int64_t class_id);
  std::int64_t add_run(const HistoryRun& run, const Where& where, const SeriesSet& measured);
  Expected<void> add_exact(const HistoryRun& run, const RunValue& value, const Where& where,
                           std::int64_t series);
  Expected<void> check_contradictions(const HistoryRun& run);

  const SqlDatabase& database_;
  const OnContradiction on_contradiction_;
  Recorded recorded_;
  std::vector<std::string> contradictions_;  // of the run that is added
  std::unordered_map<std::int64_t, std::unique_ptr<Timeline>> timelines_;  // by branch
  Dictionary branches_;
  Dictionary classes_;
  Dictionary keys_;
  Dictionary sets_;
  SqlStatement find_commit_;
  SqlStatement add_commit_;
  SqlStatement find_run_;
  SqlStatement add_run_;
  SqlStatement find_series_;
  SqlStatement add_series_;
  SqlStatement put_sample_;
  SqlStatement put_outcome_;
  StepsTable steps_;
};

}  // namespace instr
