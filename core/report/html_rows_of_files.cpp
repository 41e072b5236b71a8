#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/history/recording.h"
#include "core/report/html_data.h"
#include "core/results/result_set.h"

namespace instr {

namespace {

class FilesReportBuilder {
 public:
  FilesReportBuilder(const std::vector<std::string>& vary, const Acceptances& accepted)
      : vary_(vary), accepted_(accepted) {}

  Expected<void> add(const ResultSet& file) {
    const auto position = static_cast<std::int64_t>(data_.columns.size());
    const ResultsHeader& header = file.results.header;
    const Commit commit{file.name, position, parse_time(header.started).value_or(0), ""};
    TRY_ASSIGN(auto run, make_run(file, commit, "", vary_, /*is_commit_trusted=*/true));
    data_.columns.push_back({"",
                             file.name,
                             std::filesystem::path(file.name).filename().string(),
                             position,
                             run.commit.authored,
                             fmt::format("{}", fmt::join(header.command, " ")),
                             {}});
    files_.push_back(&file);
    for (RunOutcome& outcome : run.outcomes) {
      data_.outcomes.push_back({std::move(outcome), column()});
    }
    std::vector<std::int64_t> measured;
    for (const RunValue& value : run.values) {
      ReportSeries& series = find_series(value, run.classes[value.class_index]);
      series.definitions = run.definitions;
      if (series.is_exact) measured.push_back(series.id);
      TRY(add_value(series, value));
    }
    data_.columns.back().measured.push_back(std::make_shared<const SeriesSet>(std::move(measured)));
    return {};
  }

  ReportData take() { return std::move(data_); }

 private:
  std::size_t column() const { return data_.columns.size() - 1; }

  ReportSeries& find_series(const RunValue& value, const std::string& class_text) {
    const auto [class_entry, is_new_class] =
        classes_.try_emplace(class_text, static_cast<std::int64_t>(classes_.size()));
    const auto [place, is_new] = series_.try_emplace(
        {value.key, value.metric, class_entry->second, value.is_exact}, data_.series.size());
    if (is_new) {
      data_.series.push_back({{static_cast<std::int64_t>(place->second), value.key, value.metric,
                               "", class_entry->second, value.is_exact},
                              {},
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
      TRY_ASSIGN(auto attribution, attribute_change(series, before, value.value));
      TRY_ASSIGN(auto trees, align_trees(series));
      const Acceptance* acceptance =
          find_accepted(accepted_, series.key, series.metric, before, value.value);
      series.changes.push_back(
          {.column = column(),
           .before = before,
           .after = value.value,
           .p = {},
           .attribution = std::move(attribution),
           .accepted = acceptance == nullptr ? std::nullopt : std::optional(*acceptance),
           .trees = std::move(trees)});
    }
    if (!series.is_exact || !is_same) series.values.push_back({column(), value.value});
    return {};
  }

  const ResultSet& file_before(const ReportSeries& series) const {
    return *files_[series.values.back().column];
  }

  // The functions that changed between the last value's column and this one.
  Expected<std::optional<Attribution>> attribute_change(const ReportSeries& series, double before,
                                                        double after) {
    const FunctionsOf& old = file_before(series).functions;
    if (series.metric != kInstructions || !old || !files_.back()->functions) return std::nullopt;
    TRY_ASSIGN(auto functions_before, old(series.key));
    TRY_ASSIGN(auto functions_after, files_.back()->functions(series.key));
    if (functions_before.empty() || functions_after.empty()) return std::nullopt;
    return attributor_.attribute(functions_before, functions_after, after - before);
  }

  // The call paths of both columns, if they are known.
  Expected<std::shared_ptr<const AlignedTrees>> align_trees(const ReportSeries& series) {
    const CallTreesOf& old = file_before(series).call_trees;
    if (series.metric != kInstructions || !old || !files_.back()->call_trees) return nullptr;
    TRY_ASSIGN(auto before, old(series.key));
    TRY_ASSIGN(auto after, files_.back()->call_trees(series.key));
    if (!before || !after) return nullptr;
    return std::make_shared<const AlignedTrees>(aligned(*before, *after));
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
    TRY(builder.add(file));
  }
  return builder.take();
}

}  // namespace instr
