#include <algorithm>
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

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxRowName = 60;                       // columns of a function's name
constexpr std::size_t kMaxFlameBytes = std::size_t{8} << 20;  // of flame graphs, the newest first

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

Json printable_json(const Texts& texts) {
  Json list = Json::array();
  for (const std::string& text : texts.all()) list.push_back(printable(text));
  return list;
}

// " --definitions=bench.toml": options, each with a blank before it.
std::string shell_words(const std::vector<std::string>& options) {
  std::string words;
  for (const std::string& option : options) words += " " + shell_word(printable(option));
  return words;
}

class Writer {
 public:
  explicit Writer(const ReportData& data) : data_(data) {}

  Json write() {
    write_flames();
    Json json;
    json["title"] = printable(data_.title);
    json["version"] = kProgramVersion;
    json["columns"] = columns();
    json["series"] = all_series();
    json["moves"] = std::move(moves_);
    json["flames"] = std::move(flames_);
    json["functions"] = functions();
    json["breaks"] = breaks();
    json["outcomes"] = outcomes();
    json["accepted"] = std::move(accepted_);
    json["since"] = since();
    json["metrics"] = metrics();
    json["named"] = {{"instructions", kInstructions},
                     {"wall", kWall},
                     {"relative", kRelativeWall},
                     {"ready", kReadyTime},
                     {"memory", kPeakBytes}};
    json["branches"] = printable_json(branches_);
    json["definitions"] = printable_json(definitions_);
    json["history"] = printable(data_.history);
    json["sets"] = std::move(sets_);
    if (data_.experiments) json["experiments"] = experiments();
    json["keys"] = keys();
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
    Json list = Json::array();
    for (const ReportColumn& column : data_.columns) {
      Json sets = Json::array();
      for (const auto& set : column.measured) sets.push_back(number_of(set));
      list.push_back({branches_.number_of(column.branch), printable(column.id),
                      printable(column.name), column.time, printable(column.subject),
                      std::move(sets)});
    }
    return list;
  }

  std::size_t number_of(const std::shared_ptr<const SeriesSet>& set) {
    const auto [entry, is_new] = set_numbers_.try_emplace(set.get(), sets_.size());
    if (is_new) sets_.push_back(set->ranges());
    return entry->second;
  }

  Json all_series() {
    Json list = Json::array();
    for (const ReportSeries& series : data_.series) {
      Json values = Json::array();
      for (const ReportValue& value : series.values) {
        values.push_back(value.column);
        values.push_back(json_number(value.value));
      }
      Json changes = Json::array();
      for (const ReportChange& change : series.changes) changes.push_back(change_json(change));
      list.push_back({series.id, keys_.number_of(series.key), metrics_.number_of(series.metric),
                      branches_.number_of(series.branch), series.class_id, series.is_exact ? 1 : 0,
                      std::move(values), std::move(changes),
                      definitions_.number_of(shell_words(series.definitions))});
    }
    return list;
  }

  // The column, before, after, p, the numbers of functions, acceptance and flame graph, and how
  // many commits before may have made it, too.
  Json change_json(const ReportChange& change) {
    const auto& [metric, before, after, hard, soft, verdict, accepted, speedup] = change.change;
    Json json{change.column, json_number(*before), json_number(*after)};
    json.push_back(speedup ? Json(speedup->p) : Json());
    json.push_back(change.attribution ? move_number(*change.attribution) : Json());
    json.push_back(accepted ? Json(accepted_number(*accepted)) : Json());
    const auto flame = flame_numbers_.find(&change);
    json.push_back(flame == flame_numbers_.end() ? Json() : Json(flame->second));
    json.push_back(change.other_candidates);
    json.push_back(to_string(verdict));
    json.push_back(change.is_regression);
    return json;
  }

  Json move_number(const Attribution& move) {
    Json parts = Json::array();
    for (const FunctionChange& part : move.parts) {
      parts.push_back({functions_.number_of({part.function, part.object}), json_number(part.before),
                       json_number(part.after), json_number(part.calls_before),
                       json_number(part.calls_after)});
    }
    moves_.push_back({std::move(parts), move.others, json_number(move.others_change),
                      json_number(move.unexplained)});
    return moves_.size() - 1;
  }

  Json functions() const {
    std::vector<std::string> names;
    for (const auto& [name, object] : functions_.all()) names.push_back(name);
    const std::vector<std::string> short_names = short_function_names(names, kMaxRowName);
    Json list = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
      list.push_back({printable(names[i]), short_names[i], printable(functions_.all()[i].second)});
    }
    return list;
  }

  std::size_t accepted_number(const Acceptance& acceptance) {
    accepted_.push_back(
        {printable(acceptance.who), printable(acceptance.why), printable(acceptance.commit)});
    return accepted_.size() - 1;
  }

  Json breaks() const {
    Json list = Json::array();
    for (const ReportBreak& series_break : data_.breaks) {
      Json reasons = Json::array();
      for (const std::string& reason : series_break.reasons) reasons.push_back(printable(reason));
      list.push_back({series_break.column, series_break.series, std::move(reasons)});
    }
    return list;
  }

  Json outcomes() {
    Json list = Json::array();
    for (const ReportOutcome& outcome : data_.outcomes) {
      list.push_back({outcome.column, keys_.number_of(outcome.key), printable(outcome.state),
                      printable(outcome.reason, /*lines=*/true)});
    }
    return list;
  }

  // Numbers their keys: --metrics may have removed all their series.
  Json experiments() {
    for (const ReportExperiment& one : data_.experiments->list) keys_.number_of(one.key);
    return experiments_json(*data_.experiments);
  }

  Json since() {
    if (!data_.since) return {};
    Json columns = Json::array();
    for (const auto& [branch, column] : data_.since->columns) {
      columns.push_back({branches_.number_of(branch), column});
    }
    return {{"name", printable(data_.since->name)}, {"columns", std::move(columns)}};
  }

  // The metrics of the series, with their place in kMetrics.
  Json metrics() const {
    Json list = Json::array();
    for (const std::string& name : metrics_.all()) {
      const auto* known =
          std::find_if(std::begin(kMetrics), std::end(kMetrics),
                       [&name](const Metric& metric) { return metric.name == name; });
      const bool is_known = known != std::end(kMetrics);
      list.push_back({printable(name), is_known ? known->heading : printable(name),
                      is_known ? to_string(known->unit) : "",
                      static_cast<std::size_t>(known - std::begin(kMetrics))});
    }
    return list;
  }

  Json keys() const {
    std::vector<Texts> values(std::size(kFacets));
    Json list = Json::array();
    for (const std::string& key : keys_.all()) {
      const Variant variant = parse_key(key);
      Json entry{printable(key)};
      for (std::size_t i = 0; i < values.size(); ++i) {
        entry.push_back(values[i].number_of(kFacets[i].of(variant)));
      }
      list.push_back(std::move(entry));
    }
    Json facets = Json::array();
    for (std::size_t i = 0; i < values.size(); ++i) {
      facets.push_back({kFacets[i].name, printable_json(values[i])});
    }
    return {{"facets", std::move(facets)}, {"list", std::move(list)}};
  }

  const ReportData& data_;
  Texts branches_;
  Texts definitions_;  // options, as in a shell
  Texts keys_;
  Texts metrics_;
  Json moves_ = Json::array();
  Json flames_ = Json::array();
  std::map<const ReportChange*, std::size_t> flame_numbers_;
  Json accepted_ = Json::array();
  Json sets_ = Json::array();
  std::unordered_map<const SeriesSet*, std::size_t> set_numbers_;
  Numbered<std::pair<std::string, std::string>> functions_;  // and their libraries
};

}  // namespace

Json report_json(const ReportData& data) { return Writer(data).write(); }

std::string report_page(const ReportData& data, const std::string& made) {
  Json json = report_json(data);
  json["made"] = made;
  return page("report.html", json);
}

}  // namespace instr
