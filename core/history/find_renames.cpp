#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/history/profiles.h"
#include "core/history/renames.h"
#include "core/history/steps_table.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

using Ids = std::vector<std::int64_t>;

// Of all exact series that were measured at a commit.
Ids measured_at(const Timeline::Measured& commit) {
  std::set<std::int64_t> ids;
  for (const auto& run : commit.runs) {
    for (const auto& [first, last] : run->ranges()) {
      for (auto id = first; id <= last; ++id) ids.insert(id);
    }
  }
  return {ids.begin(), ids.end()};
}

Ids difference(const Ids& left, const Ids& right) {
  Ids rest;
  std::set_difference(left.begin(), left.end(), right.begin(), right.end(),
                      std::back_inserter(rest));
  return rest;
}

// The instructions of one class, of which one is renamed, by key.
struct Side {
  std::vector<NamedCount> counts;
  std::map<std::string, std::int64_t> ids;
};

struct Sides {
  Side gone;
  Side come;
};

class RenameFinder {
 public:
  RenameFinder(const SqlDatabase& database, const SeriesChoice& choice)
      : database_(database), steps_(database), commits_(read_commits(database)) {
    auto rows = database.prepare(
        "SELECT series_id, key, metric, branch, class_id, is_exact FROM all_series"
        " WHERE metric = ? AND is_exact = 1");
    rows.start(kInstructions);
    SeriesChoice any_metric = choice;
    any_metric.metrics.clear();
    while (rows.step()) {
      HistorySeries series = series_at(rows);
      if (any_metric.has(series)) series_[series.id] = std::move(series);
    }
  }

  Expected<std::vector<RecordedRename>> find() {
    for (const Branch& branch : read_branches(database_)) {
      if (auto found = find_in(branch.id); !found) return tl::unexpected(found.error());
    }
    return std::move(found_);
  }

 private:
  // At each measured commit: what was measured for the last time just before it, and what then for
  // the first time.
  Expected<void> find_in(std::int64_t branch) {
    const Timeline timeline(database_, branch);
    const auto& commits = timeline.commits();
    for (auto at = commits.begin(); at != commits.end() && std::next(at) != commits.end(); ++at) {
      const auto next = std::next(at);
      if (at->second.runs == next->second.runs) continue;
      if (auto found = find_between(timeline, at->first, next->first); !found) return found;
    }
    return {};
  }

  Expected<void> find_between(const Timeline& timeline, const Place& before, const Place& after) {
    const Ids ids_before = measured_at(timeline.commits().at(before));
    const Ids ids_after = measured_at(timeline.commits().at(after));
    std::map<std::int64_t, Sides> by_class;
    for (const auto id : difference(ids_before, ids_after)) {
      if (!timeline.next(after, id)) put(id, before, timeline, &Sides::gone, by_class);
    }
    for (const auto id : difference(ids_after, ids_before)) {
      if (!timeline.previous(before, id)) put(id, after, timeline, &Sides::come, by_class);
    }
    for (const auto& [class_id, sides] : by_class) {
      auto renames = find_renames(sides.gone.counts, sides.come.counts,
                                  functions_at(sides.gone, before, timeline),
                                  functions_at(sides.come, after, timeline));
      if (!renames) return tl::unexpected(renames.error());
      for (const Rename& names : *renames) {
        if (!known_.insert(names).second) continue;
        found_.push_back({names, row_of(database_, commits_, timeline.commit_at(after))});
      }
    }
    return {};
  }

  void put(std::int64_t id, const Place& place, const Timeline& timeline, Side Sides::*side,
           std::map<std::int64_t, Sides>& by_class) {
    auto series = series_.find(id);
    if (series == series_.end()) return;
    const auto step = step_at(steps_.read(id, timeline), place);
    if (!step) return;
    Side& one = by_class[series->second.class_id].*side;
    one.counts.push_back({series->second.key, step->value});
    one.ids[series->second.key] = id;
  }

  FunctionsOf functions_at(const Side& side, const Place& place, const Timeline& timeline) {
    return [this, &side, place,
            &timeline](const std::string& key) -> Expected<std::vector<FunctionCost>> {
      const auto id = side.ids.at(key);
      const auto step = step_at(steps_.read(id, timeline), place);
      return steps_.profiles().read(id, timeline.commit_at(step->place));
    };
  }

  const SqlDatabase& database_;
  StepsTable steps_;
  const std::map<std::int64_t, Commit> commits_;
  std::map<std::int64_t, HistorySeries> series_;
  std::set<Rename> known_;
  std::vector<RecordedRename> found_;
};

}  // namespace

Expected<std::vector<RecordedRename>> read_renames(const SqlDatabase& database,
                                                   const SeriesChoice& choice) {
  return sql_stage([&] { return RenameFinder(database, choice).find(); });
}

}  // namespace instr
