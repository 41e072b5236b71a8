// The commits of a branch that were measured, in their order, which exact series each run measured,
// and what else runs say.
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

namespace instr {

// The numbers of series, as ranges from first to last; sorted, and as few as possible.
class SeriesSet {
 public:
  using Range = std::pair<std::int64_t, std::int64_t>;

  SeriesSet() = default;
  explicit SeriesSet(std::vector<std::int64_t> series);

  // Reads "[[1,4000],[4003,4003]]"; nothing if `text` has another form.
  static std::optional<SeriesSet> parse(const std::string& text);
  std::string text() const;

  bool contains(std::int64_t series) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  std::int64_t max() const { return ranges_.empty() ? 0 : ranges_.back().second; }
  bool operator==(const SeriesSet&) const = default;

  template <class Take>
  void for_each(Take take) const {
    for (const auto& [first, last] : ranges_) {
      for (auto series = first; series <= last; ++series) take(series);
    }
  }

 private:
  std::vector<Range> ranges_;
};

// Parses the members of a row of series_sets. Throws an SqlError if they are malformed.
SeriesSet parse_members(const SqlDatabase& database, const std::string& text);

class Timeline {
 public:
  Timeline(const SqlDatabase& database, std::int64_t branch);

  void add_commit(const Place& place, std::int64_t commit);
  void add_run(const Place& place, std::int64_t run, std::shared_ptr<const SeriesSet> measured);

  bool is_measured(const Place& place, std::int64_t series) const;
  // Each returns a commit at which the series was measured: the first after `place`, the last
  // before it, the first from it on.
  std::optional<Place> next(const Place& place, std::int64_t series) const;
  std::optional<Place> previous(const Place& place, std::int64_t series) const;
  std::optional<Place> first_from(const Place& place, std::int64_t series) const;

  Place place_of(std::int64_t commit) const { return places_.at(commit); }
  std::int64_t commit_at(const Place& place) const { return commits_.at(place).commit; }
  bool has(std::int64_t commit) const { return places_.contains(commit); }

  struct Run {
    std::int64_t id = 0;
    std::shared_ptr<const SeriesSet> measured;  // exact series
  };
  struct Measured {
    std::int64_t commit = 0;
    std::vector<Run> runs;  // the runs, in the order recorded

    bool has(std::int64_t series) const;
  };
  const std::map<Place, Measured>& commits() const { return commits_; }

 private:
  using Commits = std::map<Place, Measured>;
  std::optional<Place> find_from(Commits::const_iterator from, std::int64_t series) const;

  Commits commits_;
  std::map<std::int64_t, Place> places_;
};

// Options of a command that name definitions: {"--definitions=bench.toml"}.
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
  std::map<std::string, Timeline> timelines_;  // key: the branch
  std::map<std::int64_t, RunFacts> facts_;     // key: the run's id
  const Limits defaults_ = default_limits();
  std::map<std::pair<const LimitsOfKeys*, std::string>, Limits> limits_;
  SqlStatement find_sample_;
};

}  // namespace instr
