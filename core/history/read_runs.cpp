#include "core/history/read_runs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/json_line.h"
#include "core/history/profiles.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

struct SeriesRow {
  HistorySeries series;
  Steps steps;  // the steps, if the series is exact
};

using AllSeries = std::map<std::int64_t, SeriesRow>;

AllSeries read_all_series(const SqlDatabase& database,
                          const std::map<std::int64_t, Commit>& commits) {
  AllSeries all;
  for (const auto& row :
       database.rows("SELECT series_id, key, metric, branch, class_id, is_exact FROM all_series")) {
    all[row.integer(0)].series = read_series_row(row);
  }
  for (const auto& row : database.rows("SELECT series_id, commit_id, value FROM steps")) {
    const auto commit = commits.find(row.integer(1));
    if (commit == commits.end()) continue;
    all[row.integer(0)].steps.push_back({commit->second.place(), row.real(2)});
  }
  for (auto& [id, row] : all) std::ranges::sort(row.steps, {}, &Step::place);
  return all;
}

class RunReader : public std::enable_shared_from_this<RunReader> {
 public:
  explicit RunReader(const SqlDatabase& database) : database_(database) {
    for (const auto& [id, commit] : commits_) numbers_[commit.place()] = id;
    for (const auto& row : database.rows("SELECT id, fields FROM classes")) {
      classes_[row.integer(0)] = row.text(1);
    }
  }

  std::optional<HistoryRun> next() {
    if (!runs_.step()) return std::nullopt;
    HistoryRun run{.commit = find_row(database_, commits_, runs_.integer(2)),
                   .branch = runs_.text(1),
                   .started = runs_.text(4),
                   .version = runs_.text(5),
                   .digest = runs_.text(6)};
    const auto facts = facts_.find(runs_.integer(0));
    if (facts != facts_.end()) {
      run.definitions = facts->second.definitions;
      if (facts->second.limits) run.limits = *facts->second.limits;
    }
    ClassIndices classes;
    add_exact(run, parse_members(database_, runs_.text(3)), classes);
    for (const auto& sample : samples_.start(runs_.integer(0))) {
      add(run, find_row(database_, series_, sample.integer(0)).series, sample.real(1), classes);
      run.values.back().repetitions = parse_repetitions(database_, sample.text(2));
    }
    for (const auto& outcome : outcomes_.start(runs_.integer(0))) {
      run.outcomes.push_back({outcome.text(0), outcome.text(1), outcome.text(2)});
    }
    return run;
  }

 private:
  using ClassIndices = std::unordered_map<std::int64_t, std::size_t>;

  void add(HistoryRun& run, const HistorySeries& series, double value, ClassIndices& classes) {
    auto [known, is_new] = classes.try_emplace(series.class_id, run.classes.size());
    if (is_new) run.classes.push_back(find_row(database_, classes_, series.class_id));
    run.values.push_back({series.key, series.metric, series.is_exact, known->second, value});
  }

  void add_exact(HistoryRun& run, const SeriesSet& measured, ClassIndices& classes) {
    const Place place = run.commit.place();
    using SeriesAndCommit = std::pair<std::int64_t, std::int64_t>;
    auto profiles = std::make_shared<std::unordered_map<std::string, SeriesAndCommit>>();
    measured.for_each([&](std::int64_t id) {
      const auto row = series_.find(id);
      const auto step = row == series_.end() ? std::nullopt : step_at(row->second.steps, place);
      if (!step) return;
      const HistorySeries& series = row->second.series;
      add(run, series, step->value, classes);
      if (series.metric != kInstructions) return;
      (*profiles)[series.key] = {id, find_row(database_, numbers_, step->place)};
    });
    const auto make_reader = [&](auto read) {
      return [self = shared_from_this(), profiles, read](const std::string& key) {
        const auto profile = profiles->find(key);
        using Value = decltype(read(self->profiles_, 0, 0));
        return profile == profiles->end()
                   ? Expected<Value>()
                   : read(self->profiles_, profile->second.first, profile->second.second);
      };
    };
    run.functions = make_reader(std::mem_fn(&Profiles::read));
    run.call_trees = make_reader(std::mem_fn(&Profiles::read_call_tree));
  }

  const SqlDatabase& database_;
  std::map<std::int64_t, Commit> commits_ = read_commits(database_);
  std::map<Place, std::int64_t> numbers_;  // place on a branch -> the commit's id
  std::map<std::int64_t, std::string> classes_;
  std::map<std::int64_t, RunFacts> facts_ = read_run_facts(database_);
  AllSeries series_ = read_all_series(database_, commits_);
  Profiles profiles_{database_};
  SqlStatement runs_ = database_.prepare(
      "SELECT runs.id, branches.name, commit_id, members, started, version, digest FROM runs"
      " JOIN branches ON branches.id = branch_id JOIN series_sets ON series_sets.id = set_id"
      " ORDER BY runs.id");
  SqlStatement samples_ =
      database_.prepare("SELECT series_id, value, repetitions FROM samples WHERE run_id = ?");
  SqlStatement outcomes_ = database_.prepare(
      "SELECT key, state, reason FROM outcomes JOIN keys ON keys.id = key_id WHERE run_id = ?");
};

// Reads the points of series. Tables that all series need are read once.
class PointReader {
 public:
  explicit PointReader(const SqlDatabase& database) : database_(database) {
    for (const Branch& branch : read_branches(database)) {
      timelines_.emplace(branch.name, Timeline(database, branch.id));
    }
  }

  // Returns the chosen series, sorted.
  std::vector<const SeriesRow*> choose(const SeriesChoice& choice) const {
    std::vector<const SeriesRow*> rows;
    for (const auto& [id, row] : series_) {
      if (choice.has(row.series)) rows.push_back(&row);
    }
    std::ranges::sort(rows, is_before,
                      [](const SeriesRow* row) -> const HistorySeries& { return row->series; });
    return rows;
  }

  // Returns false as soon as `take` does.
  bool read(const SeriesRow& row, const std::function<bool(const HistoryPoint&)>& take) {
    const HistorySeries& series = row.series;
    if (!series.is_exact) {
      for (const auto& sample : samples_.start(series.id)) {
        const Commit& commit = find_row(database_, commits_, sample.integer(0));
        if (!take({series, commit, sample.real(1), sample.text(2)})) return false;
      }
      return true;
    }
    for (const auto& [place, measured] : find_row(database_, timelines_, series.branch).commits()) {
      const auto step = measured.has(series.id) ? step_at(row.steps, place) : std::nullopt;
      if (!step) continue;
      const Commit& commit = find_row(database_, commits_, measured.commit);
      if (!take({series, commit, step->value})) return false;
    }
    return true;
  }

 private:
  const SqlDatabase& database_;
  std::map<std::int64_t, Commit> commits_ = read_commits(database_);
  AllSeries series_ = read_all_series(database_, commits_);
  std::map<std::string, Timeline> timelines_;
  SqlStatement samples_ = database_.prepare(
      "SELECT commit_id, value, repetitions FROM samples JOIN runs ON runs.id = run_id"
      " JOIN commits ON commits.id = commit_id WHERE series_id = ?"
      " ORDER BY position, hash, started");
};

}  // namespace

Expected<NextRun> read_runs(const SqlDatabase& database) {
  return sql_stage([&]() -> NextRun {
    auto reader = std::make_shared<RunReader>(database);
    return [reader]() -> Expected<std::optional<HistoryRun>> {
      return sql_stage([&] { return reader->next(); });
    };
  });
}

Expected<void> for_each_point(const SqlDatabase& database, const SeriesChoice& choice,
                              const std::function<bool(const HistoryPoint&)>& take) {
  return sql_stage([&] {
    PointReader reader(database);
    for (const SeriesRow* row : reader.choose(choice)) {
      if (!reader.read(*row, take)) return;
    }
  });
}

}  // namespace instr
