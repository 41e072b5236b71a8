#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/history/profiles.h"
#include "core/history/recording.h"
#include "core/history/schema.h"
#include "core/history/timeline.h"
#include "core/report/history_tables.h"
#include "core/report/html_data.h"
#include "core/results/verification.h"

namespace instr {

namespace {

constexpr std::size_t kMaxTrees = 200;
constexpr const char* kInMemory = ":memory:";  // SQLite's name for a database in memory

// Returns the logarithm of a ratio; nothing unless both are above 0.
std::optional<double> log_ratio(double over, double under) {
  if (over <= 0 || under <= 0) return std::nullopt;
  return std::log(over / under);
}

// The key, metric and branch of a line, which has several series if it was measured differently.
using LineName = std::tuple<std::string, std::string, std::string>;
using Line = std::vector<ReportSeries*>;  // the series measured last first

double find_now(const Line& line) { return line.front()->values.back().value; }

// Adds the figures that compare series: with eager, and each value with the one before.
class FigureBuilder {
 public:
  explicit FigureBuilder(ReportData& data) : data_(data) {
    for (ReportSeries& series : data.series) {
      lines_[{series.key, series.metric, series.branch}].push_back(&series);
      for (std::size_t i = 1; i < series.values.size(); ++i) {
        const auto log = log_ratio(series.values[i].value, series.values[i - 1].value);
        series.logs.push_back(log.value_or(0));
      }
    }
    for (auto& [name, line] : lines_) {
      std::ranges::stable_sort(line, std::ranges::greater(), &ReportSeries::last);
    }
    for (const ReportOutcome& outcome : data.outcomes) {
      const bool is_good = outcome.state == to_string(VerificationCode::kPass);
      if (!is_good && outcome.state != kSkippedState) bad_.emplace(outcome.column, outcome.key);
    }
  }

  void build() {
    std::map<std::pair<std::string, std::string>, ReportBackend> backends;
    for (const auto& [name, line] : lines_) {
      const auto& [key, metric, branch] = name;
      const Variant variant = parse_key(key);
      if (!is_candidate(variant)) continue;
      const Line* eager = find_line({make_eager(variant).key, metric, branch});
      if (eager != nullptr) {
        line.front()->against_eager = log_ratio(find_now(*eager), find_now(line));
      }
      ReportBackend& backend = backends[{key, branch}];
      const Line* wall = find_line({key, kWall, branch});
      if (metric == kReadyTime && wall != nullptr) {
        backend.compile_time = std::max(find_now(line) - find_now(*wall), 0.0);
      }
      // Times in units of those that eager had in the same rounds, if there are any, come first.
      const bool is_relative = metric == kRelativeWall;
      const bool is_wall = metric == kWall && !find_line({key, kRelativeWall, branch});
      if (is_relative || (is_wall && eager != nullptr)) {
        backend.speedups = find_speedups(key, line, is_relative ? nullptr : eager);
      }
    }
    for (auto& [name, backend] : backends) {
      if (backend.speedups.empty() && !backend.compile_time) continue;
      std::tie(backend.key, backend.branch) = name;
      data_.backends.push_back(std::move(backend));
    }
  }

 private:
  const Line* find_line(const LineName& name) const {
    const auto line = lines_.find(name);
    return line == lines_.end() ? nullptr : &line->second;
  }

  static std::map<std::size_t, double> find_values(const Line& line) {
    std::map<std::size_t, double> values;  // key: the column
    for (const ReportSeries* series : line) {
      for (const auto& [column, value] : series->values) values[column] = value;
    }
    return values;
  }

  // Returns the logarithms of the speed-ups at each column, none where the key failed. `eager`: its
  // times; null if `line` is in units of them.
  std::vector<std::pair<std::size_t, double>> find_speedups(const std::string& key,
                                                            const Line& line,
                                                            const Line* eager) const {
    std::vector<std::pair<std::size_t, double>> speedups;
    const auto own = find_values(line);
    const auto of_eager = eager == nullptr ? own : find_values(*eager);
    for (const auto& [column, value] : own) {
      const auto other = of_eager.find(column);
      if (other == of_eager.end() || bad_.contains({column, key})) continue;
      const auto log = log_ratio(eager == nullptr ? 1 : other->second, value);
      if (log) speedups.emplace_back(column, *log);
    }
    return speedups;
  }

  ReportData& data_;
  std::map<LineName, Line> lines_;
  std::set<std::pair<std::size_t, std::string>> bad_;  // columns and keys
};

class HistoryReportBuilder {
 public:
  HistoryReportBuilder(const SqlDatabase& database, const SeriesChoice& choice,
                       const Acceptances& accepted)
      : database_(database), choice_(choice), accepted_(accepted) {}

  Expected<ReportData> build() {
    add_columns();
    TRY(add_steps());
    for_each_sampled(database_, choice_,
                     [this](const SampledSeries& sampled) { add_samples(sampled); });
    TRY_ASSIGN(const auto all, read_series(database_, choice_));
    for (const SeriesSummary& summary : all) {
      find_series(summary.series).last = find_column(summary.series.branch, summary.last);
    }
    for (const RecordedOutcome& outcome : read_outcomes(database_, choice_)) {
      data_.outcomes.push_back({outcome.outcome, find_column(outcome.branch, outcome.commit)});
    }
    TRY(add_breaks());
    FigureBuilder(data_).build();
    return std::move(data_);
  }

 private:
  void add_columns() {
    const auto commits = read_commits(database_);
    for (const Branch& branch : read_branches(database_)) {
      if (choice_.branch && *choice_.branch != branch.name) continue;
      for (const auto& [place, measured] : runs_.timeline(branch.name).commits()) {
        const Commit& commit = find_row(database_, commits, measured.commit);
        columns_[{branch.name, commit.hash}] = data_.columns.size();
        data_.columns.push_back({branch.name, commit.hash, short_hash(commit.hash), commit.position,
                                 commit.authored, commit.subject, measured.runs});
      }
    }
  }

  Expected<void> add_steps() {
    TRY_ASSIGN(auto steps,
               read_steps(database_, choice_, std::nullopt, /*with_first=*/true, accepted_));
    StepFunctions functions(database_);
    add_trees(functions, steps);
    std::stable_sort(steps.begin(), steps.end(), [](const auto& left, const auto& right) {
      return left.series.id < right.series.id;
    });
    for (const RecordedStep& step : steps) {
      ReportSeries& series = find_series(step.series);
      const std::size_t column = find_column(step.series.branch, step.commit);
      if (step.series.is_exact) series.values.push_back({column, *step.change.after});
      if (!step.change.before) continue;
      const auto trees = trees_.find({step.series.id, step.commit_id});
      series.changes.push_back({column, step.change, step.is_regression, functions.attribute(step),
                                trees == trees_.end() ? nullptr : trees->second,
                                step.count_other_candidates()});
    }
    return {};
  }

  // `steps` are in the order of commits. Only the newest get trees, as a page cannot hold many.
  void add_trees(StepFunctions& functions, const std::vector<RecordedStep>& steps) {
    for (auto step = steps.rbegin(); step != steps.rend() && trees_.size() < kMaxTrees; ++step) {
      auto trees = functions.align_trees(*step);
      if (trees) trees_[{step->series.id, step->commit_id}] = std::move(trees);
    }
  }

  void add_samples(const SampledSeries& sampled) {
    ReportSeries& series = find_series(sampled.series);
    for (const Sample& sample : sampled.samples) {
      series.values.push_back({find_column(sampled.series.branch, sample.commit), sample.value});
    }
  }

  Expected<void> add_breaks() {
    return read_breaks(database_, choice_).map([this](const std::vector<SeriesBreak>& breaks) {
      for (const SeriesBreak& series_break : breaks) {
        data_.breaks.push_back(
            {find_column(series_break.branch, series_break.commit), series_break.series,
             list_differences(series_break.differences, FieldClass::kMustMatch)});
      }
    });
  }

  ReportSeries& find_series(const HistorySeries& series) {
    auto [place, is_new] = series_.try_emplace(series.id, data_.series.size());
    if (is_new) data_.series.push_back({series, {}, {}, runs_.find_definitions(series)});
    return data_.series[place->second];
  }

  std::size_t find_column(const std::string& branch, const Commit& commit) const {
    return find_row(database_, columns_, {branch, commit.hash});
  }

  const SqlDatabase& database_;
  const SeriesChoice& choice_;
  const Acceptances& accepted_;
  RunsOfSeries runs_{database_};
  ReportData data_;
  std::map<std::pair<std::string, std::string>, std::size_t> columns_;  // branch, hash
  std::unordered_map<std::int64_t, std::size_t> series_;
  // By series and commit.
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const AlignedTrees>> trees_;
};

// Returns the place of a file in a sequence of files, as a commit.
Commit make_commit(const ResultSet& file, std::size_t place) {
  const ResultsHeader& header = file.results.header;
  return {fmt::format("{:040}", place), static_cast<std::int64_t>(place),
          parse_time(header.started).value_or(0),
          fmt::format("{}", fmt::join(header.command, " "))};
}

}  // namespace

Expected<ReportData> report_of_history(const SqlDatabase& database, const SeriesChoice& choice,
                                       const Acceptances& accepted) {
  return sql_stage([&] { return HistoryReportBuilder(database, choice, accepted).build(); });
}

Expected<ReportData> report_of_files(const std::vector<ResultSet>& files,
                                     const std::vector<std::string>& vary,
                                     const Acceptances& accepted) {
  std::vector<HistoryRun> runs;
  std::vector<ReportOutcome> skipped;  // outcomes that a history does not keep
  for (const ResultSet& file : files) {
    const std::size_t place = runs.size();
    TRY_ASSIGN(auto run, make_run(file, make_commit(file, place), "", vary,
                                  /*is_commit_trusted=*/true));
    for (const RunOutcome& outcome : run.outcomes) {
      if (outcome.state == kSkippedState) skipped.push_back({outcome, place});
    }
    runs.push_back(std::move(run));
  }
  TRY_ASSIGN(const auto database, open_history(kInMemory, SqlAccess::kCreate));
  TRY(record(database, std::move(runs), OnContradiction::kRefuse, vary));
  TRY_ASSIGN(auto data, report_of_history(database, {}, accepted));
  for (std::size_t i = 0; i < files.size(); ++i) {
    data.columns[i].id = files[i].name;
    data.columns[i].name = std::filesystem::path(files[i].name).filename().string();
  }
  std::ranges::move(skipped, std::back_inserter(data.outcomes));
  return data;
}

}  // namespace instr
