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
  Steps steps;  // of an exact one
};

using AllSeries = std::map<std::int64_t, SeriesRow>;

AllSeries series_of(const SqlDatabase& database, const std::map<std::int64_t, Commit>& commits) {
  AllSeries all;
  auto rows =
      database.prepare("SELECT series_id, key, metric, branch, class_id, is_exact FROM all_series");
  rows.start();
  while (rows.step()) all[rows.integer(0)].series = series_at(rows);
  auto steps = database.prepare("SELECT series_id, commit_id, value FROM steps");
  steps.start();
  while (steps.step()) {
    const auto commit = commits.find(steps.integer(1));
    if (commit == commits.end()) continue;
    all[steps.integer(0)].steps.push_back({commit->second.place(), steps.real(2)});
  }
  for (auto& [id, one] : all) {
    std::sort(one.steps.begin(), one.steps.end(),
              [](const Step& left, const Step& right) { return left.place < right.place; });
  }
  return all;
}

std::vector<double> numbers_of(const SqlDatabase& database, const std::string& text) {
  std::vector<double> numbers;
  const auto json = parse_json(text);
  if (!json || !json->is_array()) database.fail_as_damaged("repetitions are none");
  for (const auto& one : *json) {
    if (!one.is_number()) database.fail_as_damaged("repetitions are none");
    numbers.push_back(one);
  }
  return numbers;
}

// What the runs are read with.
class RunReader : public std::enable_shared_from_this<RunReader> {
 public:
  explicit RunReader(const SqlDatabase& database)
      : database_(database),
        commits_(read_commits(database)),
        series_(series_of(database, commits_)),
        profiles_(database),
        runs_(database.prepare(
            "SELECT runs.id, branches.name, commit_id, members, started, version, digest FROM runs"
            " JOIN branches ON branches.id = branch_id JOIN series_sets ON series_sets.id = set_id"
            " ORDER BY runs.id")),
        samples_(database.prepare("SELECT series_id, value, repetitions FROM samples"
                                  " WHERE run_id = ?")),
        outcomes_(database.prepare("SELECT key, state, reason FROM outcomes"
                                   " JOIN keys ON keys.id = key_id WHERE run_id = ?")) {
    for (const auto& [id, commit] : commits_) numbers_[commit.place()] = id;
    auto rows = database.prepare("SELECT id, fields FROM classes");
    rows.start();
    while (rows.step()) classes_[rows.integer(0)] = rows.text(1);
    runs_.start();
  }

  std::optional<HistoryRun> next() {
    if (!runs_.step()) return std::nullopt;
    HistoryRun run{row_of(database_, commits_, runs_.integer(2)),
                   runs_.text(1),
                   runs_.text(4),
                   runs_.text(5),
                   runs_.text(6),
                   {},
                   {},
                   {}};
    std::unordered_map<std::int64_t, std::size_t> classes;
    add_exact(run, members_of(database_, runs_.text(3)), classes);
    samples_.start(runs_.integer(0));
    while (samples_.step()) {
      const SeriesRow& row = row_of(database_, series_, samples_.integer(0));
      add(run, row.series, samples_.real(1), classes);
      if (samples_.is_null(2)) continue;
      run.values.back().repetitions = numbers_of(database_, samples_.text(2));
    }
    outcomes_.start(runs_.integer(0));
    while (outcomes_.step()) {
      run.outcomes.push_back({outcomes_.text(0), outcomes_.text(1), outcomes_.text(2)});
    }
    return run;
  }

 private:
  using ClassIndices = std::unordered_map<std::int64_t, std::size_t>;

  void add(HistoryRun& run, const HistorySeries& series, double value, ClassIndices& classes) {
    auto [known, is_new] = classes.try_emplace(series.class_id, run.classes.size());
    if (is_new) run.classes.push_back(row_of(database_, classes_, series.class_id));
    run.values.push_back({series.key, series.metric, series.is_exact, known->second, value});
  }

  void add_exact(HistoryRun& run, const SeriesSet& measured, ClassIndices& classes) {
    const Place place = run.commit.place();
    using Places = std::unordered_map<std::string, std::pair<std::int64_t, std::int64_t>>;
    auto places = std::make_shared<Places>();
    for (const auto& [first, last] : measured.ranges()) {
      for (auto id = first; id <= last; ++id) {
        const auto found = series_.find(id);
        const auto step =
            found == series_.end() ? std::nullopt : step_at(found->second.steps, place);
        if (!step) continue;
        const HistorySeries& series = found->second.series;
        add(run, series, step->value, classes);
        if (series.metric != kInstructions) continue;
        (*places)[series.key] = {id, row_of(database_, numbers_, step->place)};
      }
    }
    const auto reading = [&](auto read) {
      return [self = shared_from_this(), places, read](const std::string& key) {
        const auto found = places->find(key);
        using Found = decltype(read(self->profiles_, 0, 0));
        return found == places->end()
                   ? Expected<Found>()
                   : read(self->profiles_, found->second.first, found->second.second);
      };
    };
    run.functions = reading(std::mem_fn(&Profiles::read));
    run.call_trees = reading(std::mem_fn(&Profiles::read_call_tree));
  }

  const SqlDatabase& database_;
  std::map<std::int64_t, Commit> commits_;
  std::map<Place, std::int64_t> numbers_;  // of commits
  std::map<std::int64_t, std::string> classes_;
  AllSeries series_;
  Profiles profiles_;
  SqlStatement runs_;
  SqlStatement samples_;
  SqlStatement outcomes_;
};

// The points of a series: what it needs of a history, read once.
class PointReader {
 public:
  explicit PointReader(const SqlDatabase& database)
      : database_(database),
        commits_(read_commits(database)),
        series_(series_of(database, commits_)),
        samples_(database.prepare(
            "SELECT commit_id, value, repetitions FROM samples JOIN runs ON runs.id = run_id"
            " JOIN commits ON commits.id = commit_id WHERE series_id = ?"
            " ORDER BY position, hash, started")) {
    for (const Branch& branch : read_branches(database)) {
      timelines_.emplace(branch.name, Timeline(database, branch.id));
    }
  }

  // Sorted.
  std::vector<const SeriesRow*> chosen(const SeriesChoice& choice) const {
    std::vector<const SeriesRow*> rows;
    for (const auto& [id, row] : series_) {
      if (choice.has(row.series)) rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(), [](const SeriesRow* left, const SeriesRow* right) {
      return is_before(left->series, right->series);
    });
    return rows;
  }

  // False if `take` was.
  bool read(const SeriesRow& row, const std::function<bool(const HistoryPoint&)>& take) {
    const HistorySeries& series = row.series;
    if (!series.is_exact) {
      samples_.start(series.id);
      while (samples_.step()) {
        const Commit& commit = row_of(database_, commits_, samples_.integer(0));
        if (!take({series, commit, samples_.real(1), samples_.text(2)})) return false;
      }
      return true;
    }
    for (const auto& [place, measured] : row_of(database_, timelines_, series.branch).commits()) {
      const auto step = measured.has(series.id) ? step_at(row.steps, place) : std::nullopt;
      if (!step) continue;
      const Commit& commit = row_of(database_, commits_, measured.commit);
      if (!take({series, commit, step->value})) return false;
    }
    return true;
  }

 private:
  const SqlDatabase& database_;
  std::map<std::int64_t, Commit> commits_;
  AllSeries series_;
  std::map<std::string, Timeline> timelines_;
  SqlStatement samples_;
};

}  // namespace

Expected<NextRun> runs_of(const SqlDatabase& database) {
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
    for (const SeriesRow* row : reader.chosen(choice)) {
      if (!reader.read(*row, take)) return;
    }
  });
}

}  // namespace instr
