#include "core/history/read.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "core/base/json_line.h"
#include "core/definitions/metrics.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

// The columns of all_series, which those of the other views begin with.
HistorySeries series_at(const SqlStatement& row) {
  return {row.integer(0), row.text(1),    row.text(2),
          row.text(3),    row.integer(4), row.integer(5) != 0};
}

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
  std::vector<std::int64_t> branches;
  auto rows = database.prepare("SELECT id FROM branches");
  rows.start();
  while (rows.step()) branches.push_back(rows.integer(0));
  for (const auto branch : branches) {
    const Timeline timeline(database, branch);
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

using Summaries = std::vector<SeriesSummary>;

void add_exact(const SqlDatabase& database, const SeriesChoice& choice, Summaries& all) {
  const auto measured = measured_of(database);
  const auto commits = read_commits(database);
  auto rows = database.prepare(
      "SELECT series_id, key, metric, branch, class_id, is_exact, after FROM all_steps"
      " ORDER BY series_id, position, hash");
  rows.start();
  while (rows.step()) {
    HistorySeries series = series_at(rows);
    if (!choice.has(series)) continue;
    const auto found = measured.find(series.id);
    if (found == measured.end() || !commits.contains(found->second.last)) continue;
    if (all.empty() || all.back().series.id != series.id) {
      all.push_back(
          {std::move(series), found->second.commits, 0, commits.at(found->second.last), 0});
    } else {
      ++all.back().steps;
    }
    all.back().value = rows.real(6);
  }
}

void add_sampled(const SqlDatabase& database, const SeriesChoice& choice, Summaries& all) {
  auto rows = database.prepare(
      "SELECT series_id, key, metric, branch, class_id, is_exact, hash, position, authored,"
      " subject, value FROM all_samples ORDER BY series_id, position, hash, started");
  rows.start();
  while (rows.step()) {
    HistorySeries series = series_at(rows);
    if (!choice.has(series)) continue;
    if (all.empty() || all.back().series.id != series.id) {
      all.push_back({std::move(series), 0, 0, {}, 0});
    }
    ++all.back().measured;
    all.back().last = commit_at(rows, 6);
    all.back().value = rows.real(10);
  }
}

// A series with the commit at which it begins.
struct Beginning {
  HistorySeries series;
  Commit commit;
};

std::vector<Beginning> beginnings_of(const SqlDatabase& database, const SeriesChoice& choice) {
  std::vector<Beginning> all;
  for (const char* sql : {"SELECT series_id, key, metric, branch, class_id, is_exact, hash,"
                          " position, authored, subject FROM all_steps"
                          " ORDER BY series_id, position, hash",
                          "SELECT series_id, key, metric, branch, class_id, is_exact, hash,"
                          " position, authored, subject FROM all_samples"
                          " ORDER BY series_id, position, hash"}) {
    auto rows = database.prepare(sql);
    rows.start();
    while (rows.step()) {
      HistorySeries series = series_at(rows);
      const bool is_first = all.empty() || all.back().series.id != series.id;
      if (is_first && choice.has(series)) all.push_back({std::move(series), commit_at(rows, 6)});
    }
  }
  return all;
}

Fingerprint fingerprint_of(const SqlDatabase& database, std::int64_t class_id) {
  auto rows = database.prepare("SELECT fields FROM classes WHERE id = ?");
  Fingerprint fingerprint;
  const auto json = rows.start(class_id).step() ? parse_json(rows.text(0)) : fail("");
  if (!json || !json->is_array()) return fingerprint;
  for (const auto& field : *json) {
    const bool is_field =
        field.is_array() && field.size() == 2 && field[0].is_string() && field[1].is_string();
    if (is_field) fingerprint.entries.emplace_back(field[0], field[1]);
  }
  return fingerprint;
}

}  // namespace

bool is_before(const HistorySeries& left, const HistorySeries& right) {
  return order_of(left) < order_of(right);
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
      const bool is_late = !since || step.commit.place() > *since;
      const bool is_shown = is_late && (with_first || step.before) && choice.has(step.series);
      if (is_shown) steps.push_back(std::move(step));
    }
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
      auto differences = check_fingerprints(fingerprint_of(database, std::get<2>(kind)),
                                            fingerprint_of(database, std::get<3>(kind)), {});
      if (!differences) return tl::unexpected(differences.error());
      found.differences = std::move(*differences);
      list.push_back(std::move(found));
    }
    return list;
  });
}

}  // namespace instr
