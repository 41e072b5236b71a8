#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "core/base/format.h"
#include "core/base/numbered.h"
#include "core/base/shell.h"
#include "core/base/version.h"
#include "core/definitions/axes.h"
#include "core/definitions/metrics.h"
#include "core/definitions/variant.h"
#include "core/profile/function_names.h"
#include "core/report/flame.h"
#include "core/report/html_data.h"
#include "core/report/page.h"
#include "core/results/results_file.h"
#include "core/results/verification.h"

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

}  // namespace

Json report_json(const ReportData& data) { return Writer(data).write(); }

std::string report_page(const ReportData& data, const std::string& made) {
  Json json = report_json(data);
  json["made"] = made;
  return page("report.html", json);
}

}  // namespace instr
