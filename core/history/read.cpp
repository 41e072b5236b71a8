#include "core/history/read.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/base/read_file.h"
#include "core/compare/judge.h"
#include "core/definitions/metrics.h"
#include "core/history/profiles.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

// Reads hash, position, authored and subject, beginning with column `first`.
Commit read_commit(const SqlStatement& row, int first) {
  return {row.text(first), row.integer(first + 1), row.integer(first + 2), row.text(first + 3)};
}

// Unknown metrics come last.
auto sort_key(const HistorySeries& series) {
  const auto metric = std::ranges::find(kMetrics, series.metric, &Metric::name);
  return std::tuple(series.key, metric - kMetrics.begin(), series.metric, series.branch,
                    series.class_id);
}

struct Measured {
  std::size_t commits = 0;
  std::int64_t last = 0;
};

// Returns the measured commits of each exact series.
std::unordered_map<std::int64_t, Measured> read_measured(const SqlDatabase& database) {
  std::unordered_map<std::int64_t, Measured> by_series;
  for (const Branch& branch : read_branches(database)) {
    const Timeline timeline(database, branch.id);
    for (const auto& [place, commit] : timeline.commits()) {
      const auto add = [&by_series, number = commit.commit](std::int64_t series) {
        Measured& measured = by_series[series];
        if (measured.last != number) ++measured.commits;
        measured.last = number;
      };
      for (const auto& run : commit.runs) run.measured->for_each(add);
    }
  }
  return by_series;
}

// Reads a row that begins with the columns of the view all_series.
HistorySeries read_series_row(const SqlStatement& row) {
  std::string metric = row.text(2);
  if (metric == "ir") metric = kInstructions;  // schema 1's name of the metric
  return {row.integer(0), row.text(1),    std::move(metric),
          row.text(3),    row.integer(4), row.integer(5) != 0};
}

// Visits the steps of the chosen exact series, one series after the other.
void for_each_step(const SqlDatabase& database, const SeriesChoice& choice,
                   const std::function<void(RecordedStep)>& take) {
  std::int64_t series_before = 0;
  std::int64_t commit_before = 0;
  for (const auto& row : database.rows(
           "SELECT series_id, key, metric, branch, class_id, is_exact, hash, position, authored,"
           " subject, before, after, commit_id FROM all_steps"
           " ORDER BY series_id, position, hash")) {
    RecordedStep step{read_series_row(row), read_commit(row, 6), {}, row.integer(12)};
    step.change = {step.series.metric, std::nullopt, row.real(11), {}, {}};
    if (step.series.id == series_before) {
      step.change.before = row.real(10);
      step.before_id = commit_before;
    }
    series_before = step.series.id;
    commit_before = step.commit_id;
    if (choice.has(step.series)) take(std::move(step));
  }
}

using Summaries = std::vector<SeriesSummary>;

void add_exact(const SqlDatabase& database, const SeriesChoice& choice, Summaries& all) {
  const auto by_series = read_measured(database);
  const auto commits = read_commits(database);
  for_each_step(database, choice, [&](const RecordedStep& step) {
    const auto measured = by_series.find(step.series.id);
    if (measured == by_series.end() || !commits.contains(measured->second.last)) return;
    if (!step.change.before) {
      const auto& [count, last] = measured->second;
      all.push_back({step.series, count, 0, commits.at(last), 0});
    } else {
      ++all.back().steps;
    }
    all.back().value = *step.change.after;
  });
}

// Parses the repetitions of a sample. Throws an SqlError if they are malformed.
std::vector<double> parse_repetitions(const SqlDatabase& database, const std::string& text) {
  if (text.empty()) return {};
  return parse_stored<std::vector<double>>(database, text,
                                           "the stored repetitions of a sample are malformed");
}

// Judges the steps of one series after the other, and collects them.
class StepJudge {
 public:
  StepJudge(const SqlDatabase& database, const Acceptances& accepted)
      : database_(database), accepted_(accepted) {}

  // `steps`: all of an exact series, in their order.
  void add(std::vector<RecordedStep> steps) {
    if (steps.empty()) return;
    std::vector<SequenceValue> values;
    for (RecordedStep& step : steps) {
      values.push_back({*step.change.after, nullptr, {}});
      if (!step.change.before) continue;
      const Timeline& timeline = runs_.timeline(step.series.branch);
      const auto place = timeline.previous(step.commit.place(), step.series.id);
      if (!place) database_.fail_as_damaged("no run measured the value before a step");
      step.measured_before = find_row(database_, commits_, timeline.commit_at(*place));
      values.back().limits = &runs_.find_limits(step.series, *place);
    }
    const HistorySeries& series = steps.front().series;
    for (auto& [at, change, is_regression] :
         compare_sequence({series.key, series.metric}, values, accepted_)) {
      steps[at].change = std::move(change);
      steps[at].is_regression = is_regression;
    }
    std::ranges::move(steps, std::back_inserter(steps_));
  }

  void add(const SampledSeries& sampled) {
    std::vector<SequenceValue> values;
    std::vector<const Sample*> last;  // each commit's last sample: a commit's samples are one value
    for (const Sample& sample : sampled.samples) {
      const bool is_same = !last.empty() && last.back()->commit_id == sample.commit_id;
      if (!is_same) {
        const auto before = last.empty() ? 0 : last.back()->run_id;
        values.push_back({0, &runs_.limits_of_run(before, sampled.series.key), {}});
        last.emplace_back();
      }
      values.back().value = sample.value;
      std::ranges::move(parse_repetitions(database_, sample.repetitions),
                        std::back_inserter(values.back().repetitions));
      last.back() = &sample;
    }
    const auto& [id, key, metric, branch, class_id, is_exact] = sampled.series;
    for (auto& [at, change, is_regression] :
         compare_sequence({key, metric, is_exact}, values, accepted_)) {
      steps_.push_back({sampled.series, last[at]->commit, std::move(change), last[at]->commit_id,
                        last[at - 1]->commit_id, last[at - 1]->commit, is_regression});
    }
  }

  std::vector<RecordedStep> take() { return std::move(steps_); }

 private:
  const SqlDatabase& database_;
  const Acceptances& accepted_;
  std::map<std::int64_t, Commit> commits_ = read_commits(database_);
  RunsOfSeries runs_{database_};
  std::vector<RecordedStep> steps_;
};

struct Beginning {
  HistorySeries series;
  Commit commit;

  auto line() const { return std::tie(series.key, series.metric, series.branch); }
};

// Returns the commits at which the series begin, by line and place.
std::vector<Beginning> read_beginnings(const SqlDatabase& database, const SeriesChoice& choice) {
  std::vector<Beginning> all;
  for_each_step(database, choice, [&all](RecordedStep step) {
    if (!step.change.before) all.push_back({std::move(step.series), std::move(step.commit)});
  });
  for_each_sampled(database, choice, [&all](const SampledSeries& sampled) {
    all.push_back({sampled.series, sampled.samples.front().commit});
  });
  std::ranges::sort(all, {}, [](const Beginning& beginning) {
    return std::tuple(beginning.line(), beginning.commit.place());
  });
  return all;
}

Fingerprint read_fingerprint(const SqlDatabase& database, std::int64_t class_id) {
  auto rows = database.rows("SELECT fields FROM classes WHERE id = ?", class_id);
  Fingerprint fingerprint;
  fingerprint.entries = parse_stored<Fingerprint::Entries>(
      database, rows.step() ? rows.text(0) : "", "a stored fingerprint is malformed");
  return fingerprint;
}

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

bool is_before(const HistorySeries& left, const HistorySeries& right) {
  return sort_key(left) < sort_key(right);
}

void for_each_sampled(const SqlDatabase& database, const SeriesChoice& choice,
                      const std::function<void(const SampledSeries&)>& take) {
  SampledSeries sampled;
  for (const auto& row : database.rows(
           "SELECT series_id, key, metric, branch, class_id, is_exact, hash, position, authored,"
           " subject, commit_id, run_id, value, repetitions FROM all_samples"
           " JOIN runs ON runs.id = run_id ORDER BY series_id, position, hash, runs.started")) {
    HistorySeries series = read_series_row(row);
    if (!choice.has(series)) continue;
    if (series.id != sampled.series.id) {
      if (!sampled.samples.empty()) take(sampled);
      sampled = {std::move(series), {}};
    }
    sampled.samples.push_back(
        {read_commit(row, 6), row.integer(10), row.integer(11), row.real(12), row.text(13)});
  }
  if (!sampled.samples.empty()) take(sampled);
}

std::vector<RecordedOutcome> read_outcomes(const SqlDatabase& database,
                                           const SeriesChoice& choice) {
  std::vector<RecordedOutcome> outcomes;
  for (const auto& row : database.rows(
           "SELECT branches.name, hash, position, authored, subject, key, state, reason"
           " FROM outcomes JOIN runs ON runs.id = run_id JOIN branches ON branches.id = branch_id"
           " JOIN commits ON commits.id = commit_id JOIN keys ON keys.id = key_id"
           " ORDER BY run_id, key")) {
    const std::string branch = row.text(0);
    const std::string key = row.text(5);
    if (choice.branch && *choice.branch != branch) continue;
    if (choice.key && !choice.key(key)) continue;
    outcomes.push_back({branch, read_commit(row, 1), {key, row.text(6), row.text(7)}});
  }
  return outcomes;
}

std::vector<Branch> read_branches(const SqlDatabase& database) {
  std::vector<Branch> branches;
  for (const auto& row : database.rows("SELECT id, name FROM branches ORDER BY name")) {
    branches.push_back({row.integer(0), row.text(1)});
  }
  return branches;
}

std::optional<std::int64_t> find_branch(const SqlDatabase& database, const std::string& name) {
  auto rows = database.rows("SELECT id FROM branches WHERE name = ?", name);
  return rows.step() ? std::optional(rows.integer(0)) : std::nullopt;
}

std::map<std::int64_t, Commit> read_commits(const SqlDatabase& database) {
  std::map<std::int64_t, Commit> commits;
  for (const auto& row :
       database.rows("SELECT id, hash, position, authored, subject FROM commits")) {
    commits[row.integer(0)] = read_commit(row, 1);
  }
  return commits;
}

std::int64_t RecordedStep::count_other_candidates() const {
  return measured_before
             ? std::max<std::int64_t>(commit.position - measured_before->position - 1, 0)
             : 0;
}

bool SeriesChoice::has(const HistorySeries& series) const {
  const bool is_metric =
      metrics.empty() || std::ranges::find(metrics, series.metric) != metrics.end();
  return is_metric && (!branch || *branch == series.branch) && (!key || key(series.key));
}

Expected<Summaries> read_series(const SqlDatabase& database, const SeriesChoice& choice) {
  return sql_stage([&] {
    Summaries all;
    add_exact(database, choice, all);
    for_each_sampled(database, choice, [&all](const SampledSeries& sampled) {
      const Sample& last = sampled.samples.back();
      all.push_back({sampled.series, sampled.samples.size(), 0, last.commit, last.value});
    });
    std::ranges::sort(all, is_before, &SeriesSummary::series);
    return all;
  });
}

Expected<std::vector<RecordedStep>> read_steps(const SqlDatabase& database,
                                               const SeriesChoice& choice,
                                               const std::optional<Place>& since, bool with_first,
                                               const Acceptances& accepted) {
  return sql_stage([&] {
    StepJudge judge(database, accepted);
    std::vector<RecordedStep> of_series;
    for_each_step(database, choice, [&](RecordedStep step) {
      if (!step.change.before) judge.add(std::exchange(of_series, {}));
      of_series.push_back(std::move(step));
    });
    judge.add(std::move(of_series));
    for_each_sampled(database, choice, [&](const SampledSeries& sampled) { judge.add(sampled); });
    std::vector<RecordedStep> steps = judge.take();
    std::erase_if(steps, [&](const RecordedStep& step) {
      return (!with_first && !step.change.before) || (since && step.commit.place() <= *since);
    });
    std::ranges::sort(steps, {}, [](const RecordedStep& step) {
      return std::tuple(step.commit.place(), sort_key(step.series));
    });
    return steps;
  });
}

Expected<std::vector<SeriesBreak>> read_breaks(const SqlDatabase& database,
                                               const SeriesChoice& choice) {
  return sql_stage([&]() -> Expected<std::vector<SeriesBreak>> {
    const auto all = read_beginnings(database, choice);
    using Kind = std::tuple<Place, std::string, std::int64_t, std::int64_t>;
    std::map<Kind, SeriesBreak> breaks;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const HistorySeries& before = all[i - 1].series;
      const auto& [after, commit] = all[i];
      if (all[i - 1].line() != all[i].line() || before.class_id == after.class_id) continue;
      SeriesBreak& at = breaks[{commit.place(), after.branch, before.class_id, after.class_id}];
      at.branch = after.branch;
      at.commit = commit;
      ++at.series;
    }
    std::vector<SeriesBreak> list;
    for (auto& [kind, at] : breaks) {
      TRY_ASSIGN(at.differences,
                 check_fingerprints(read_fingerprint(database, std::get<2>(kind)),
                                    read_fingerprint(database, std::get<3>(kind)), {}));
      list.push_back(std::move(at));
    }
    return list;
  });
}

Expected<std::vector<OpenStep>> read_open_steps(const SqlDatabase& database,
                                                const std::string& branch) {
  TRY_ASSIGN(const auto steps,
             read_steps(database, {{}, {}, branch}, std::nullopt, /*with_first=*/false));
  std::vector<OpenStep> open;
  std::set<OpenStep> known;
  for (const RecordedStep& step : steps) {
    if (!step.series.is_exact || step.count_other_candidates() == 0) continue;
    const OpenStep open_step{step.measured_before->hash, step.commit.hash};
    if (known.insert(open_step).second) open.push_back(open_step);
  }
  return open;
}

Expected<std::vector<std::string>> read_keys(const SqlDatabase& database) {
  TRY_ASSIGN(const auto series, read_series(database, {}));
  std::vector<std::string> keys;
  for (const SeriesSummary& summary : series) {
    if (keys.empty() || keys.back() != summary.series.key) keys.push_back(summary.series.key);
  }
  return keys;
}

Expected<std::optional<std::int64_t>> count_failures(const SqlDatabase& database,
                                                     const std::string& branch,
                                                     const std::string& hash) {
  return sql_stage([&]() -> std::optional<std::int64_t> {
    auto rows = database.rows(
        "SELECT (SELECT count(*) FROM outcomes WHERE run_id = runs.id AND state = ?)"
        " FROM runs JOIN commits ON commits.id = commit_id"
        " JOIN branches ON branches.id = branch_id WHERE branches.name = ? AND hash = ?"
        " ORDER BY runs.id DESC",
        kFailedState, branch, hash);
    return rows.step() ? std::optional(rows.integer(0)) : std::nullopt;
  });
}

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
