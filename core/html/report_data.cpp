#include "core/html/report_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/history/history_report.h"
#include "core/history/profiles.h"
#include "core/history/recording.h"
#include "core/history/timeline.h"

namespace instr {

namespace {

// A file is its own commit.
Commit commit_of(const ResultSet& file, std::int64_t position) {
  return {file.name, position, seconds_of(file.results.header.started).value_or(0), ""};
}

std::string command_text(const ResultsHeader& header) {
  std::string text;
  for (const std::string& word : header.command) text += (text.empty() ? "" : " ") + word;
  return text;
}

class FilesReportBuilder {
 public:
  FilesReportBuilder(const std::vector<std::string>& vary, const Acceptances& accepted)
      : vary_(vary), accepted_(accepted) {}

  Expected<void> add(const ResultSet& file) {
    const auto position = static_cast<std::int64_t>(data_.columns.size());
    auto run = run_of(file, commit_of(file, position), "", vary_, /*is_commit_trusted=*/true);
    if (!run) return tl::unexpected(run.error());
    data_.columns.push_back({"",
                             file.name,
                             std::filesystem::path(file.name).filename().string(),
                             position,
                             run->commit.authored,
                             command_text(file.results.header),
                             {}});
    files_.push_back(&file);
    for (RunOutcome& one : run->outcomes) {
      data_.outcomes.push_back({std::move(one), column()});
    }
    std::vector<std::int64_t> measured;
    for (const RunValue& value : run->values) {
      ReportSeries& series = series_of(value, run->classes[value.class_index]);
      if (series.is_exact) measured.push_back(series.id);
      if (auto added = add_value(series, value); !added) return added;
    }
    data_.columns.back().measured.push_back(
        std::make_shared<const SeriesSet>(SeriesSet::of(std::move(measured))));
    return {};
  }

  ReportData take() { return std::move(data_); }

 private:
  std::size_t column() const { return data_.columns.size() - 1; }

  ReportSeries& series_of(const RunValue& value, const std::string& class_text) {
    const auto [class_entry, is_new_class] =
        classes_.try_emplace(class_text, static_cast<std::int64_t>(classes_.size()));
    const auto [place, is_new] = series_.try_emplace(
        {value.key, value.metric, class_entry->second, value.is_exact}, data_.series.size());
    if (is_new) {
      data_.series.push_back({{static_cast<std::int64_t>(place->second), value.key, value.metric,
                               "", class_entry->second, value.is_exact},
                              {},
                              {}});
    }
    return data_.series[place->second];
  }

  Expected<void> add_value(ReportSeries& series, const RunValue& value) {
    const bool is_first = series.values.empty();
    const double before = is_first ? 0 : series.values.back().value;
    const bool is_same = !is_first && before == value.value;
    std::vector<double>& repetitions = repetitions_[series.id];
    if (!series.is_exact) {
      const auto faster = speedup(repetitions, value.repetitions);
      if (!is_first && faster && !faster->is_same()) {
        series.changes.push_back({column(), before, value.value, faster->p, {}, {}});
      }
      repetitions = value.repetitions;
    } else if (!is_first && !is_same) {
      auto attribution = attribution_of(series, before, value.value);
      if (!attribution) return tl::unexpected(attribution.error());
      auto trees = trees_of(series);
      if (!trees) return tl::unexpected(trees.error());
      const Acceptance* found =
          find_accepted(accepted_, series.key, series.metric, before, value.value);
      series.changes.push_back({.column = column(),
                                .before = before,
                                .after = value.value,
                                .p = {},
                                .attribution = std::move(*attribution),
                                .accepted = found == nullptr ? std::nullopt : std::optional(*found),
                                .trees = std::move(*trees)});
    }
    if (!series.is_exact || !is_same) series.values.push_back({column(), value.value});
    return {};
  }

  const ResultSet& file_before(const ReportSeries& series) const {
    return *files_[series.values.back().column];
  }

  // Between this column and that of the value before.
  Expected<std::optional<Attribution>> attribution_of(const ReportSeries& series, double before,
                                                      double after) {
    const FunctionsOf& old = file_before(series).functions;
    if (series.metric != kInstructions || !old || !files_.back()->functions) return std::nullopt;
    auto functions_before = old(series.key);
    if (!functions_before) return tl::unexpected(functions_before.error());
    auto functions_after = files_.back()->functions(series.key);
    if (!functions_after) return tl::unexpected(functions_after.error());
    if (functions_before->empty() || functions_after->empty()) return std::nullopt;
    return attributor_.attribute(*functions_before, *functions_after, after - before);
  }

  // The same of its call paths.
  Expected<std::shared_ptr<const AlignedTrees>> trees_of(const ReportSeries& series) {
    const CallTreesOf& old = file_before(series).call_trees;
    if (series.metric != kInstructions || !old || !files_.back()->call_trees) return nullptr;
    auto before = old(series.key);
    if (!before) return tl::unexpected(before.error());
    auto after = files_.back()->call_trees(series.key);
    if (!after) return tl::unexpected(after.error());
    if (!*before || !*after) return nullptr;
    return std::make_shared<const AlignedTrees>(aligned(**before, **after));
  }

  const std::vector<std::string>& vary_;
  const Acceptances& accepted_;
  ReportData data_;
  Attributor attributor_;
  std::vector<const ResultSet*> files_;  // by column
  std::map<std::string, std::int64_t> classes_;
  std::map<std::tuple<std::string, std::string, std::int64_t, bool>, std::size_t> series_;
  std::unordered_map<std::int64_t, std::vector<double>> repetitions_;  // of the last value
};

}  // namespace

Expected<ReportData> report_of_files(const std::vector<ResultSet>& files,
                                     const std::vector<std::string>& vary,
                                     const Acceptances& accepted) {
  FilesReportBuilder builder(vary, accepted);
  for (const ResultSet& file : files) {
    if (auto added = builder.add(file); !added) return tl::unexpected(added.error());
  }
  return builder.take();
}

namespace {

constexpr std::size_t kMostTrees = 200;

class HistoryReportBuilder {
 public:
  HistoryReportBuilder(const SqlDatabase& database, const SeriesChoice& choice,
                       const Acceptances& accepted)
      : database_(database), choice_(choice), accepted_(accepted) {}

  Expected<ReportData> build() {
    add_columns();
    if (auto added = add_steps(); !added) return tl::unexpected(added.error());
    for_each_sampled(database_, choice_, [this](const SampledSeries& one) { add_samples(one); });
    for (const RecordedOutcome& one : read_outcomes(database_, choice_)) {
      data_.outcomes.push_back({one.outcome, column_of(one.branch, one.commit)});
    }
    if (auto added = add_breaks(); !added) return tl::unexpected(added.error());
    return std::move(data_);
  }

 private:
  void add_columns() {
    const auto commits = read_commits(database_);
    for (const Branch& branch : read_branches(database_)) {
      if (choice_.branch && *choice_.branch != branch.name) continue;
      const Timeline timeline(database_, branch.id);
      for (const auto& [place, measured] : timeline.commits()) {
        const Commit& commit = row_of(database_, commits, measured.commit);
        columns_[{branch.name, commit.hash}] = data_.columns.size();
        data_.columns.push_back({branch.name, commit.hash, short_hash(commit.hash), commit.position,
                                 commit.authored, commit.subject, measured.runs});
      }
    }
  }

  Expected<void> add_steps() {
    auto steps = read_steps(database_, choice_, std::nullopt, /*with_first=*/true);
    if (!steps) return tl::unexpected(steps.error());
    StepFunctions functions(database_);
    add_trees(functions, *steps);
    std::stable_sort(steps->begin(), steps->end(), [](const auto& left, const auto& right) {
      return left.series.id < right.series.id;
    });
    for (const RecordedStep& step : *steps) {
      ReportSeries& series = series_of(step.series);
      const std::size_t column = column_of(step.series.branch, step.commit);
      if (step.series.is_exact) series.values.push_back({column, step.after});
      if (!step.before) continue;
      const auto trees = trees_.find({step.series.id, step.commit_id});
      series.changes.push_back({column, *step.before, step.after, step.p, functions.of(step),
                                accepted_of(step),
                                trees == trees_.end() ? nullptr : trees->second});
    }
    return {};
  }

  // `steps` are in the order of commits. Only the newest have theirs, as a page cannot hold many.
  void add_trees(StepFunctions& functions, const std::vector<RecordedStep>& steps) {
    for (auto step = steps.rbegin(); step != steps.rend() && trees_.size() < kMostTrees; ++step) {
      auto trees = functions.trees_of(*step);
      if (trees) trees_[{step->series.id, step->commit_id}] = std::move(trees);
    }
  }

  void add_samples(const SampledSeries& sampled) {
    ReportSeries& series = series_of(sampled.series);
    for (std::size_t i = 0; i < sampled.values.size(); ++i) {
      series.values.push_back(
          {column_of(sampled.series.branch, sampled.commits[i]), sampled.values[i]});
    }
  }

  Expected<void> add_breaks() {
    return read_breaks(database_, choice_).map([this](const std::vector<SeriesBreak>& breaks) {
      for (const SeriesBreak& one : breaks) {
        data_.breaks.push_back({column_of(one.branch, one.commit), one.series,
                                lines_of(one.differences, FieldClass::kMustMatch)});
      }
    });
  }

  ReportSeries& series_of(const HistorySeries& series) {
    auto [place, is_new] = series_.try_emplace(series.id, data_.series.size());
    if (is_new) data_.series.push_back({series, {}, {}});
    return data_.series[place->second];
  }

  std::size_t column_of(const std::string& branch, const Commit& commit) const {
    return row_of(database_, columns_, {branch, commit.hash});
  }

  std::optional<Acceptance> accepted_of(const RecordedStep& step) const {
    const Acceptance* found =
        find_accepted(accepted_, step.series.key, step.series.metric, *step.before, step.after);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  const SqlDatabase& database_;
  const SeriesChoice& choice_;
  const Acceptances& accepted_;
  ReportData data_;
  std::map<std::pair<std::string, std::string>, std::size_t> columns_;  // branch, hash
  std::unordered_map<std::int64_t, std::size_t> series_;
  // By series and commit.
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const AlignedTrees>> trees_;
};

}  // namespace

Expected<ReportData> report_of_history(const SqlDatabase& database, const SeriesChoice& choice,
                                       const Acceptances& accepted) {
  return sql_stage([&] { return HistoryReportBuilder(database, choice, accepted).build(); });
}

}  // namespace instr
