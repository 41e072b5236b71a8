#include "core/history/read.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/base/json_line.h"
#include "core/definitions/metrics.h"
#include "core/history/change_points.h"
#include "core/history/timeline.h"
#include "core/results/timing.h"

namespace instr {

namespace {

// hash, position, authored, subject.
Commit commit_at(const SqlStatement& row, int first) {
  return {row.text(first), row.integer(first + 1), row.integer(first + 2), row.text(first + 3)};
}

// Unknown metrics come last.
std::size_t place_of_metric(const std::string& metric) {
  const auto* found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [&metric](const Metric& one) { return one.name == metric; });
  return static_cast<std::size_t>(found - kMetrics.begin());
}

auto order_of(const HistorySeries& series) {
  return std::tuple(series.key, place_of_metric(series.metric), series.metric, series.branch,
                    series.class_id);
}

struct Measured {
  std::size_t commits = 0;
  std::int64_t last = 0;
};

// Of each exact series.
std::unordered_map<std::int64_t, Measured> measured_of(const SqlDatabase& database) {
  std::unordered_map<std::int64_t, Measured> measured;
  for (const Branch& branch : read_branches(database)) {
    const Timeline timeline(database, branch.id);
    for (const auto& [place, commit] : timeline.commits()) {
      for (const auto& run : commit.runs) {
        for (const auto& [first, last] : run->ranges()) {
          for (auto series = first; series <= last; ++series) {
            Measured& one = measured[series];
            if (one.last != commit.commit) ++one.commits;
            one.last = commit.commit;
          }
        }
      }
    }
  }
  return measured;
}

// Of the chosen exact series, one after the other; the first value of each has none before.
void for_each_step(const SqlDatabase& database, const SeriesChoice& choice,
                   const std::function<void(RecordedStep)>& take) {
  auto rows = database.prepare(
      "SELECT series_id, key, metric, branch, class_id, is_exact, hash, position, authored,"
      " subject, before, after, commit_id FROM all_steps ORDER BY series_id, position, hash");
  std::int64_t series_before = 0;
  std::int64_t commit_before = 0;
  rows.start();
  while (rows.step()) {
    RecordedStep step{series_at(rows), commit_at(rows, 6), std::nullopt, rows.real(11),
                      rows.integer(12)};
    if (step.series.id == series_before) {
      step.before = rows.real(10);
      step.before_id = commit_before;
    }
    series_before = step.series.id;
    commit_before = step.commit_id;
    if (choice.has(step.series)) take(std::move(step));
  }
}

using Summaries = std::vector<SeriesSummary>;

void add_exact(const SqlDatabase& database, const SeriesChoice& choice, Summaries& all) {
  const auto measured = measured_of(database);
  const auto commits = read_commits(database);
  for_each_step(database, choice, [&](const RecordedStep& step) {
    const auto found = measured.find(step.series.id);
    if (found == measured.end() || !commits.contains(found->second.last)) return;
    if (!step.before) {
      all.push_back({step.series, found->second.commits, 0, commits.at(found->second.last), 0});
    } else {
      ++all.back().steps;
    }
    all.back().value = step.after;
  });
}

void add_sampled(const SqlDatabase& database, const SeriesChoice& choice, Summaries& all) {
  for_each_sampled(database, choice, [&all](const SampledSeries& one) {
    all.push_back({one.series, one.values.size(), 0, one.commits.back(), one.values.back()});
  });
}

void add_steps_of(const SampledSeries& sampled, std::vector<RecordedStep>& steps) {
  const auto points = change_points(sampled.values);
  const auto level = [&sampled](std::size_t begin, std::size_t end) {
    return median({sampled.values.begin() + static_cast<std::ptrdiff_t>(begin),
                   sampled.values.begin() + static_cast<std::ptrdiff_t>(end)});
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t first = points[i].first;
    const std::size_t begin = i == 0 ? 0 : points[i - 1].first;
    const std::size_t end = i + 1 < points.size() ? points[i + 1].first : sampled.values.size();
    steps.push_back({sampled.series, sampled.commits[first], level(begin, first), level(first, end),
                     0, 0, points[i].p});
  }
}

// A series with the commit at which it begins.
struct Beginning {
  HistorySeries series;
  Commit commit;
};

std::vector<Beginning> beginnings_of(const SqlDatabase& database, const SeriesChoice& choice) {
  std::vector<Beginning> all;
  for_each_step(database, choice, [&all](RecordedStep step) {
    if (!step.before) all.push_back({std::move(step.series), std::move(step.commit)});
  });
  for_each_sampled(database, choice, [&all](const SampledSeries& one) {
    all.push_back({one.series, one.commits.front()});
  });
  return all;
}

Fingerprint fingerprint_of(const SqlDatabase& database, std::int64_t class_id) {
  auto rows = database.prepare("SELECT fields FROM classes WHERE id = ?");
  Fingerprint fingerprint;
  const auto json = parse_json(rows.start(class_id).step() ? rows.text(0) : "");
  if (!json || !json->is_array()) database.fail_as_damaged("a fingerprint is none");
  for (const auto& field : *json) {
    const bool is_field =
        field.is_array() && field.size() == 2 && field[0].is_string() && field[1].is_string();
    if (is_field) fingerprint.entries.emplace_back(field[0], field[1]);
  }
  return fingerprint;
}

}  // namespace

HistorySeries series_at(const SqlStatement& row) {
  return {row.integer(0), row.text(1),    row.text(2),
          row.text(3),    row.integer(4), row.integer(5) != 0};
}

bool is_before(const HistorySeries& left, const HistorySeries& right) {
  return order_of(left) < order_of(right);
}

void for_each_sampled(const SqlDatabase& database, const SeriesChoice& choice,
                      const std::function<void(const SampledSeries&)>& take) {
  auto rows = database.prepare(
      "SELECT series_id, key, metric, branch, class_id, is_exact, hash, position, authored,"
      " subject, value FROM all_samples ORDER BY series_id, position, hash, started");
  SampledSeries sampled;
  rows.start();
  while (rows.step()) {
    HistorySeries series = series_at(rows);
    if (!choice.has(series)) continue;
    if (series.id != sampled.series.id) {
      if (!sampled.values.empty()) take(sampled);
      sampled = {std::move(series), {}, {}};
    }
    sampled.commits.push_back(commit_at(rows, 6));
    sampled.values.push_back(rows.real(10));
  }
  if (!sampled.values.empty()) take(sampled);
}

std::vector<RecordedOutcome> read_outcomes(const SqlDatabase& database,
                                           const SeriesChoice& choice) {
  std::vector<RecordedOutcome> outcomes;
  auto rows = database.prepare(
      "SELECT branches.name, hash, position, authored, subject, key, state, reason FROM outcomes"
      " JOIN runs ON runs.id = run_id JOIN branches ON branches.id = branch_id"
      " JOIN commits ON commits.id = commit_id JOIN keys ON keys.id = key_id ORDER BY run_id, key");
  rows.start();
  while (rows.step()) {
    RecordedOutcome one{
        rows.text(0), commit_at(rows, 1), {rows.text(5), rows.text(6), rows.text(7)}};
    if (choice.branch && *choice.branch != one.branch) continue;
    if (choice.key && !choice.key(one.outcome.key)) continue;
    outcomes.push_back(std::move(one));
  }
  return outcomes;
}

std::vector<Branch> read_branches(const SqlDatabase& database) {
  std::vector<Branch> branches;
  auto rows = database.prepare("SELECT id, name FROM branches ORDER BY name");
  rows.start();
  while (rows.step()) branches.push_back({rows.integer(0), rows.text(1)});
  return branches;
}

std::map<std::int64_t, Commit> read_commits(const SqlDatabase& database) {
  std::map<std::int64_t, Commit> commits;
  auto rows = database.prepare("SELECT id, hash, position, authored, subject FROM commits");
  rows.start();
  while (rows.step()) commits[rows.integer(0)] = commit_at(rows, 1);
  return commits;
}

bool SeriesChoice::has(const HistorySeries& series) const {
  const bool is_metric =
      metrics.empty() || std::find(metrics.begin(), metrics.end(), series.metric) != metrics.end();
  return is_metric && (!branch || *branch == series.branch) && (!key || key(series.key));
}

Expected<Summaries> read_series(const SqlDatabase& database, const SeriesChoice& choice) {
  return sql_stage([&] {
    Summaries all;
    add_exact(database, choice, all);
    add_sampled(database, choice, all);
    std::sort(all.begin(), all.end(), [](const SeriesSummary& left, const SeriesSummary& right) {
      return is_before(left.series, right.series);
    });
    return all;
  });
}

Expected<std::vector<RecordedStep>> read_steps(const SqlDatabase& database,
                                               const SeriesChoice& choice,
                                               const std::optional<Place>& since, bool with_first) {
  return sql_stage([&] {
    std::vector<RecordedStep> steps;
    for_each_step(database, choice, [&](RecordedStep step) {
      if (with_first || step.before) steps.push_back(std::move(step));
    });
    for_each_sampled(database, choice, [&](const SampledSeries& one) { add_steps_of(one, steps); });
    std::erase_if(steps, [&since](const RecordedStep& step) {
      return since && step.commit.place() <= *since;
    });
    std::sort(steps.begin(), steps.end(), [](const RecordedStep& left, const RecordedStep& right) {
      return std::tuple(left.commit.place(), order_of(left.series)) <
             std::tuple(right.commit.place(), order_of(right.series));
    });
    return steps;
  });
}

Expected<std::vector<SeriesBreak>> read_breaks(const SqlDatabase& database,
                                               const SeriesChoice& choice) {
  return sql_stage([&]() -> Expected<std::vector<SeriesBreak>> {
    auto all = beginnings_of(database, choice);
    std::sort(all.begin(), all.end(), [](const Beginning& left, const Beginning& right) {
      return std::tuple(left.series.key, left.series.metric, left.series.branch,
                        left.commit.place()) < std::tuple(right.series.key, right.series.metric,
                                                          right.series.branch,
                                                          right.commit.place());
    });
    using Kind = std::tuple<Place, std::string, std::int64_t, std::int64_t>;
    std::map<Kind, SeriesBreak> breaks;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const HistorySeries& before = all[i - 1].series;
      const HistorySeries& after = all[i].series;
      const bool is_same_line = before.key == after.key && before.metric == after.metric &&
                                before.branch == after.branch && before.class_id != after.class_id;
      if (!is_same_line) continue;
      SeriesBreak& found =
          breaks[{all[i].commit.place(), after.branch, before.class_id, after.class_id}];
      found.branch = after.branch;
      found.commit = all[i].commit;
      ++found.series;
    }
    std::vector<SeriesBreak> list;
    for (auto& [kind, found] : breaks) {
      TRY_ASSIGN(found.differences,
                 check_fingerprints(fingerprint_of(database, std::get<2>(kind)),
                                    fingerprint_of(database, std::get<3>(kind)), {}));
      list.push_back(std::move(found));
    }
    return list;
  });
}

Expected<std::vector<OpenStep>> open_steps(const SqlDatabase& database, const std::string& branch) {
  TRY_ASSIGN(auto steps,
             read_steps(database, {{}, {}, branch}, std::nullopt, /*with_first=*/false));
  return sql_stage([&] {
    const auto commits = read_commits(database);
    auto number = database.prepare("SELECT id FROM branches WHERE name = ?");
    std::vector<OpenStep> open;
    if (!number.start(branch).step()) return open;
    const Timeline timeline(database, number.integer(0));
    std::set<OpenStep> known;
    for (const RecordedStep& step : steps) {
      const auto before = timeline.previous(step.commit.place(), step.series.id);
      if (!before || before->position + 1 >= step.commit.position) continue;
      OpenStep one{row_of(database, commits, timeline.commit_at(*before)).hash, step.commit.hash};
      if (known.insert(one).second) open.push_back(std::move(one));
    }
    return open;
  });
}

Expected<std::vector<std::string>> recorded_keys(const SqlDatabase& database) {
  TRY_ASSIGN(const auto series, read_series(database, {}));
  std::vector<std::string> keys;
  for (const SeriesSummary& one : series) {
    if (keys.empty() || keys.back() != one.series.key) keys.push_back(one.series.key);
  }
  return keys;
}

Expected<std::optional<std::int64_t>> failures_at(const SqlDatabase& database,
                                                  const std::string& branch,
                                                  const std::string& hash) {
  return sql_stage([&]() -> std::optional<std::int64_t> {
    auto run = database.prepare(
        "SELECT (SELECT count(*) FROM outcomes WHERE run_id = runs.id AND state = ?)"
        " FROM runs JOIN commits ON commits.id = commit_id"
        " JOIN branches ON branches.id = branch_id WHERE branches.name = ? AND hash = ?"
        " ORDER BY runs.id DESC");
    if (!run.start(kFailedState, branch, hash).step()) return std::nullopt;
    return run.integer(0);
  });
}

}  // namespace instr
