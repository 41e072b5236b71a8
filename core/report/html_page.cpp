#include "core/report/html_page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/text.h"
#include "core/definitions/axes.h"
#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"
#include "core/history/profiles.h"
#include "core/history/recording.h"
#include "core/history/schema.h"
#include "core/profile/function_names.h"
#include "core/report/flame.h"
#include "core/report/history_tables.h"
#include "core/report/page.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRowName = 60;                       // columns of a function's name
constexpr std::size_t kMaxFlameBytes = std::size_t{8} << 20;  // flame graphs, the newest first

// A property by which tables are filtered and grouped.
struct Facet {
  const char* name;
  std::string (*of)(const Variant& variant);
};

std::string on(const char* axis, const Variant& variant) { return find_axis_value(axis, variant); }

const Facet kFacets[] = {
    {"suite",
     [](const Variant& variant) { return variant.label.substr(0, variant.label.find('/')); }},
    {"language",
     [](const Variant& variant) { return std::string(facts_of(variant.language).name); }},
    {"backend", [](const Variant& variant) { return on("backend", variant); }},
    {"test", [](const Variant& variant) { return on("test", variant); }},
    {"dtype", [](const Variant& variant) { return on("dtype", variant); }},
    {"device", [](const Variant& variant) { return variant.device; }},
    {"threads", [](const Variant& variant) { return std::to_string(variant.threads); }}};

using Texts = Numbered<std::string>;

Json printable_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(printable(text));
  return list;
}

// " --definitions=bench.toml": options, each with a blank before it.
std::string shell_words(const std::vector<std::string>& options) {
  std::string words;
  for (const std::string& option : options) words += " " + shell_word(printable(option));
  return words;
}

// Adds a row to a table, which has an array for each member: shorter than an object for each row.
void add_row(Json& table, std::initializer_list<std::pair<const char*, Json>> members) {
  for (const auto& [name, value] : members) table[name].push_back(value);
}

template <class Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

// Writes the data that docs/FORMATS.md describes. Tables refer to rows of others by their numbers.
class Writer {
 public:
  explicit Writer(const ReportData& data) : data_(data) {}

  Json write() {
    write_flames();
    Json json;
    json["title"] = printable(data_.title);
    json["version"] = kProgramVersion;
    json["history"] = printable(data_.history);
    json["columns"] = columns();
    json["series"] = all_series();
    json["backends"] = backends();
    json["changes"] = std::move(changes_);
    json["flames"] = std::move(flames_);
    json["functions"] = functions();
    json["breaks"] = breaks();
    json["outcomes"] = outcomes();
    json["since"] = since();
    json["metrics"] = metrics();
    json["named"] = {{"instructions", kInstructions},
                     {"wall", kWall},
                     {"ready", kReadyTime},
                     {"memory", kPeakBytes}};
    json["branches"] = printable_json(branches_.all());
    json["definitions"] = printable_json(definitions_.all());
    json["sets"] = std::move(sets_);
    if (data_.experiments) json["experiments"] = experiments();
    add_keys(json);
    return json;
  }

 private:
  // Writes each graph as a text, which the page parses when it is shown.
  void write_flames() {
    std::vector<std::pair<const ReportSeries*, const ReportChange*>> all;
    for (const ReportSeries& series : data_.series) {
      for (const ReportChange& change : series.changes) {
        if (change.trees) all.emplace_back(&series, &change);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& left, const auto& right) {
      return left.second->column > right.second->column;
    });
    std::size_t bytes = 0;
    for (const auto& [series, change] : all) {
      const std::string text = to_line(flame_json(*change->trees, series->key));
      bytes += text.size();
      if (bytes > kMaxFlameBytes) return;
      flame_numbers_[change] = flames_.size();
      flames_.push_back(text);
    }
  }

  Json columns() {
    Json table = Json::object();
    for (const ReportColumn& column : data_.columns) {
      Json sets = Json::array();
      for (const auto& run : column.runs) sets.push_back(number_of(run.measured));
      add_row(table, {{"branch", branches_.number_of(column.branch)},
                      {"id", printable(column.id)},
                      {"name", printable(column.name)},
                      {"time", column.time},
                      {"subject", printable(column.subject)},
                      {"sets", std::move(sets)}});
    }
    return table;
  }

  std::size_t number_of(const std::shared_ptr<const SeriesSet>& set) {
    const auto [entry, is_new] = set_numbers_.try_emplace(set.get(), sets_.size());
    if (is_new) sets_.push_back(set->ranges());
    return entry->second;
  }

  Json all_series() {
    Json table = Json::object();
    std::size_t number = 0;
    for (const ReportSeries& series : data_.series) {
      Json columns = Json::array();
      Json values = Json::array();
      for (const ReportValue& value : series.values) {
        columns.push_back(value.column);
        values.push_back(json_number(value.value));
      }
      for (const ReportChange& change : series.changes) add_change(number, change);
      add_row(table, {{"id", series.id},
                      {"key", keys_.number_of(series.key)},
                      {"metric", metrics_.number_of(series.metric)},
                      {"branch", branches_.number_of(series.branch)},
                      {"is_exact", series.is_exact ? 1 : 0},
                      {"columns", std::move(columns)},
                      {"values", std::move(values)},
                      {"logs", json_numbers(series.logs)},
                      {"last", series.last},
                      {"against_eager", optional_json(series.against_eager)},
                      {"definitions", definitions_.number_of(shell_words(series.definitions))}});
      ++number;
    }
    return table;
  }

  void add_change(std::size_t series, const ReportChange& report_change) {
    const MetricChange& change = report_change.change;
    const auto flame = flame_numbers_.find(&report_change);
    const auto& move = report_change.attribution;
    add_row(changes_, {{"series", series},
                       {"column", report_change.column},
                       {"before", json_number(*change.before)},
                       {"after", json_number(*change.after)},
                       {"p", change.speedup ? Json(change.speedup->p) : Json()},
                       {"verdict", to_string(change.verdict)},
                       {"is_regression", report_change.is_regression},
                       {"move", move ? move_json(*move) : Json()},
                       {"accepted", change.accepted ? Json(to_string(*change.accepted)) : Json()},
                       {"flame", flame == flame_numbers_.end() ? Json() : Json(flame->second)},
                       {"others", report_change.other_candidates}});
  }

  Json move_json(const Attribution& move) {
    Json parts = Json::object();
    for (const FunctionChange& part : move.parts) {
      add_row(parts, {{"function", functions_.number_of({part.function, part.object})},
                      {"before", json_number(part.before)},
                      {"after", json_number(part.after)},
                      {"calls_before", json_number(part.calls_before)},
                      {"calls_after", json_number(part.calls_after)}});
    }
    return {{"parts", std::move(parts)},
            {"others", move.others},
            {"others_change", json_number(move.others_change)},
            {"unexplained", json_number(move.unexplained)}};
  }

  Json functions() const {
    std::vector<std::string> names;
    for (const auto& [name, object] : functions_.all()) names.push_back(name);
    const std::vector<std::string> short_names = short_function_names(names, kMaxRowName);
    Json table = Json::object();
    for (std::size_t i = 0; i < names.size(); ++i) {
      add_row(table, {{"name", printable(names[i])},
                      {"short", short_names[i]},
                      {"object", printable(functions_.all()[i].second)}});
    }
    return table;
  }

  Json backends() {
    Json table = Json::object();
    for (const ReportBackend& backend : data_.backends) {
      Json columns = Json::array();
      Json logs = Json::array();
      for (const auto& [column, log] : backend.speedups) {
        columns.push_back(column);
        logs.push_back(json_number(log));
      }
      add_row(table, {{"key", keys_.number_of(backend.key)},
                      {"branch", branches_.number_of(backend.branch)},
                      {"compile_time", optional_json(backend.compile_time)},
                      {"columns", std::move(columns)},
                      {"logs", std::move(logs)}});
    }
    return table;
  }

  Json breaks() const {
    Json table = Json::object();
    for (const ReportBreak& series_break : data_.breaks) {
      add_row(table, {{"column", series_break.column},
                      {"count", series_break.series},
                      {"reasons", printable_json(series_break.reasons)}});
    }
    return table;
  }

  Json outcomes() {
    Json table = Json::object();
    for (const ReportOutcome& outcome : data_.outcomes) {
      add_row(table, {{"column", outcome.column},
                      {"key", keys_.number_of(outcome.key)},
                      {"state", printable(outcome.state)},
                      {"reason", printable(outcome.reason, /*lines=*/true)}});
    }
    return table;
  }

  // Numbers their keys: --metrics may have removed all their series.
  Json experiments() {
    for (const ReportExperiment& one : data_.experiments->list) keys_.number_of(one.key);
    return experiments_json(*data_.experiments);
  }

  Json since() {
    if (!data_.since) return {};
    Json columns = Json::object();
    for (const auto& [branch, column] : data_.since->columns) columns[printable(branch)] = column;
    return {{"name", printable(data_.since->name)}, {"columns", std::move(columns)}};
  }

  // The metrics of the series, with their place in kMetrics.
  Json metrics() const {
    Json table = Json::object();
    for (const std::string& name : metrics_.all()) {
      const auto* known = std::ranges::find(kMetrics, name, &Metric::name);
      const bool is_known = known != std::end(kMetrics);
      add_row(table, {{"name", printable(name)},
                      {"heading", is_known ? known->heading : printable(name)},
                      {"unit", is_known ? to_string(known->unit) : ""},
                      {"order", static_cast<std::size_t>(known - std::begin(kMetrics))}});
    }
    return table;
  }

  // Adds the keys with the number of each value in its facet.
  void add_keys(Json& json) {
    const std::vector<std::string> keys = keys_.all();
    Json& table = json["keys"] = Json::object();
    std::map<std::string, std::size_t> numbers;
    for (const std::string& key : keys) numbers.emplace(key, numbers.size());
    for (const std::string& key : keys) {
      const Variant variant = parse_key(key);
      const auto eager =
          is_candidate(variant) ? numbers.find(make_eager(variant).key) : numbers.end();
      add_row(table, {{"key", printable(key)},
                      {"eager", eager == numbers.end() ? Json() : Json(eager->second)}});
    }
    json["facets"] = Json::array();
    for (const Facet& facet : kFacets) {
      std::map<std::string, std::size_t> values;
      for (const std::string& key : keys) values[facet.of(parse_key(key))];
      Json names = Json::array();
      for (auto& [value, number] : values) {
        number = names.size();
        names.push_back(printable(value));
      }
      for (const std::string& key : keys) {
        table[facet.name].push_back(values.at(facet.of(parse_key(key))));
      }
      json["facets"].push_back({{"name", facet.name}, {"values", std::move(names)}});
    }
  }

  const ReportData& data_;
  Texts branches_;
  Texts definitions_;  // options, as in a shell
  Texts keys_;
  Texts metrics_;
  Json changes_ = Json::object();
  Json flames_ = Json::array();
  std::map<const ReportChange*, std::size_t> flame_numbers_;
  Json sets_ = Json::array();
  std::unordered_map<const SeriesSet*, std::size_t> set_numbers_;
  Numbered<std::pair<std::string, std::string>> functions_;  // functions and their libraries
};

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

Json report_json(const ReportData& data) { return Writer(data).write(); }

std::string report_page(const ReportData& data, const std::string& made) {
  Json json = report_json(data);
  json["made"] = made;
  return page("report.html", json);
}

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

// The JSON of experiments in an HTML report.

namespace {

using PageJson = nlohmann::ordered_json;

const char* tone_name(Tone tone) {
  switch (tone) {
    case Tone::kPlain: break;
    case Tone::kGood: return "good";
    case Tone::kWarning: return "warning";
    case Tone::kBad: return "bad";
    case Tone::kDim: return "dim";
  }
  return "";
}

PageJson cell_json(const DocumentCell& cell) {
  PageJson json{{"text", cell.text}};
  if (cell.tone != Tone::kPlain) json["tone"] = tone_name(cell.tone);
  const bool is_number = !cell.is_text && !cell.value.empty();
  if (is_number) json["number"] = PageJson::parse(cell.value);
  return json;
}

// Rows: the id (the key, or the full name), the group, the name in it, and the visible cells.
PageJson table_json(const DocumentTable& table) {
  PageJson columns = PageJson::array();
  for (const DocumentColumn& column : table.columns) {
    if (!column.is_hidden) {
      columns.push_back({{"heading", full_heading(column)}, {"name", column.name}});
    }
  }
  PageJson rows = PageJson::array();
  for (const DocumentRow& row : table.rows) {
    PageJson cells = PageJson::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!table.columns[i].is_hidden) cells.push_back(cell_json(row.cells[i]));
    }
    rows.push_back({{"id", printable(row.cells[0].value)},
                    {"group", row.group},
                    {"name", row.name},
                    {"cells", std::move(cells)}});
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

PageJson tables_json(const std::vector<DocumentTable>& tables) {
  PageJson json = PageJson::array();
  for (const DocumentTable& table : tables) json.push_back(table_json(table));
  return json;
}

PageJson experiment_json(const ReportExperiment& experiment) {
  PageJson json{{"key", printable(experiment.key)},
                {"model", experiment.model},
                {"backend", experiment.backend}};
  if (experiment.row) json["row"] = *experiment.row;
  if (const auto& speedup = experiment.speedup) {
    const auto [low, high] = speedup->interval.value_or(std::pair(speedup->ratio, speedup->ratio));
    json["speedup"] = {{"ratio", json_number(speedup->ratio)},
                       {"low", json_number(low)},
                       {"high", json_number(high)}};
  }
  json["facts"] = PageJson::object();
  for (const auto& [name, text] : experiment.facts) json["facts"][name] = text;
  json["lists"] = tables_json(experiment.lists);
  return json;
}

}  // namespace

PageJson experiments_json(const ReportExperiments& experiments) {
  PageJson list = PageJson::array();
  for (const ReportExperiment& one : experiments.list) list.push_back(experiment_json(one));
  return {{"conclusion", experiments.conclusion},
          {"summary", table_json(experiments.summary)},
          {"findings", tables_json(experiments.findings)},
          {"each", table_json(experiments.each)},
          {"list", std::move(list)}};
}

}  // namespace instr
