#include "core/report/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/version.h"

namespace instr {

namespace {

using Json = nlohmann::ordered_json;

std::string format_state(RowState state) {
  std::string name = to_string(state);
  std::replace(name.begin(), name.end(), ' ', '_');
  std::erase(name, '?');
  return name;
}

const char* format_state(FunctionState state) {
  switch (state) {
    case FunctionState::kMoved: return "moved";
    case FunctionState::kNew: return "new";
    case FunctionState::kGone: return "gone";
  }
  return "unknown";
}

Json number(const std::optional<double>& value) { return value ? json_number(*value) : nullptr; }

Json limit_json(const std::optional<Limit>& limit) {
  if (!limit) return nullptr;
  Json json = Json::object();
  if (limit->percent) json["percent"] = json_number(*limit->percent);
  if (limit->absolute) json["absolute"] = json_number(*limit->absolute);
  return json;
}

Json metric_json(const MetricChange& metric) {
  Json json{{"before", number(metric.before)},     {"after", number(metric.after)},
            {"change", number(metric.change())},   {"relative", number(metric.relative())},
            {"hard", limit_json(metric.hard)},     {"soft", limit_json(metric.soft)},
            {"verdict", to_string(metric.verdict)}};
  if (metric.accepted) {
    json["accepted"] = {{"why", metric.accepted->why},
                        {"who", metric.accepted->who},
                        {"commit", metric.accepted->commit}};
  }
  if (!metric.speedup) return json;
  json["speedup"] = {{"ratio", metric.speedup->ratio}, {"p", metric.speedup->p}};
  if (const auto& interval = metric.speedup->interval) {
    json["speedup"]["interval"] = {interval->first, interval->second};
  }
  return json;
}

Json limit_changes_json(const std::vector<LimitChange>& changes) {
  Json json = Json::array();
  for (const LimitChange& change : changes) {
    json.push_back({{"metric", change.metric},
                    {"kind", change.is_soft ? "soft" : "hard"},
                    {"before", limit_json(change.before)},
                    {"after", limit_json(change.after)}});
  }
  return json;
}

Json function_json(const FunctionChange& part) {
  Json json{{"function", part.function}, {"object", part.object}};
  if (!part.object_before.empty()) json["object_before"] = part.object_before;
  json.update(Json{{"state", format_state(part.state)},
                   {"has_symbol", part.has_symbol},
                   {"same_name", part.same_name},
                   {"before", json_number(part.before)},
                   {"after", json_number(part.after)},
                   {"change", json_number(part.change)},
                   {"calls_before", json_number(part.calls_before)},
                   {"calls_after", json_number(part.calls_after)}});
  return json;
}

}  // namespace

Json attribution_json(const Attribution& attribution) {
  Json json;
  json["metric"] = attribution.metric;
  json["difference"] = json_number(attribution.difference);
  json["functions"] = Json::array();
  for (const FunctionChange& part : attribution.parts) {
    json["functions"].push_back(function_json(part));
  }
  json["others"] = {{"count", attribution.others},
                    {"change", json_number(attribution.others_change)}};
  json["unexplained"] = json_number(attribution.unexplained);
  for (const CallChange& call : attribution.calls) {
    json["calls"].push_back({{"caller", call.caller},
                             {"callee", call.callee.empty() ? Json() : Json(call.callee)},
                             {"calls_before", json_number(call.calls_before)},
                             {"calls_after", json_number(call.calls_after)},
                             {"change", json_number(call.change)}});
  }
  return json;
}

namespace {

Json line_side_json(const LineSide& side) {
  if (side.line == 0) return nullptr;
  return {{"line", side.line}, {"self", json_number(side.self)}, {"text", side.text}};
}

Json lines_json(const LineChanges& changes) {
  Json json{{"changes", Json::array()}, {"elsewhere", json_number(changes.elsewhere)}};
  for (const LineChange& change : changes.lines) {
    json["changes"].push_back({{"file", change.file},
                               {"before", line_side_json(change.before)},
                               {"after", line_side_json(change.after)},
                               {"change", json_number(change.change())}});
  }
  return json;
}

Json row_json(const ComparedRow& row) {
  Json json;
  json["key"] = row.key;
  json["state"] = format_state(row.state);
  json["verdict"] = to_string(row.verdict);
  if (!row.reason.empty()) json["reason"] = row.reason;
  json["metrics"] = Json::object();
  for (const MetricChange& metric : row.metrics) {
    json["metrics"][metric.metric] = metric_json(metric);
  }
  if (!row.limit_changes.empty()) json["limit_changes"] = limit_changes_json(row.limit_changes);
  if (row.attribution) json["attribution"] = attribution_json(*row.attribution);
  if (row.lines) json["lines"] = lines_json(*row.lines);
  return json;
}

Json head_json(const Comparison& comparison) {
  return {{"schema", kComparisonSchema},
          {"program", "instr_bench"},
          {"version", kProgramVersion},
          {"kind", "comparison"},
          {"before", comparison.before_name},
          {"after", comparison.after_name},
          {"verdict", to_string(comparison.verdict)},
          {"problems", comparison.problems}};
}

Json summary_json(const ComparisonSummary& summary) {
  Json json;
  json["states"] = Json::object();
  for (const auto& [state, count] : summary.rows) json["states"][format_state(state)] = count;
  json["verdicts"] = Json::object();
  for (const auto& [verdict, count] : summary.verdicts) {
    json["verdicts"][to_string(verdict)] = count;
  }
  json["comparable"] = summary.comparable;
  json["ratio"] = number(summary.ratio);
  json["ratio_rows"] = summary.ratio_rows;
  return json;
}

// The reason and the changed limits.
std::string format_remarks(const ComparedRow& row) {
  std::string text = row.reason;
  for (const LimitChange& change : row.limit_changes) {
    text += (text.empty() ? "" : "; ") + to_string(change);
  }
  return text;
}

// A line for each metric, or one without a metric.
std::vector<std::vector<std::string>> csv_lines(const ComparedRow& row, const Json& json) {
  Json metrics = json["metrics"];
  if (metrics.empty()) metrics[""] = Json::object();
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, metric] : metrics.items()) {
    std::vector<std::string>& fields = lines.emplace_back();
    for (const char* member : {"key", "state", "verdict"}) {
      fields.push_back(csv_field(json, member));
    }
    fields.push_back(name);
    for (const char* member : {"before", "after", "change", "relative"}) {
      fields.push_back(csv_field(metric, member));
    }
    for (const char* kind : {"hard", "soft"}) {
      const Json limit = metric.value(kind, Json());
      for (const char* part : {"percent", "absolute"}) fields.push_back(csv_field(limit, part));
    }
    fields.push_back(csv_field(metric, "verdict"));
    fields.push_back(format_remarks(row));
  }
  return lines;
}

}  // namespace

Document comparison_records(const Comparison& comparison) {
  Document document;
  document.head = to_line(head_json(comparison));
  document.summary = to_line(Json{{"summary", summary_json(comparison.summary)}});
  document.last_line = document.summary;
  document.list_name = "rows";
  document.fields = {
      "key",          "state",         "verdict",        "metric",       "before",
      "after",        "change",        "relative",       "hard_percent", "hard_absolute",
      "soft_percent", "soft_absolute", "metric_verdict", "reason"};
  for (const ComparedRow& row : comparison.rows) {
    const Json json = row_json(row);
    document.records.push_back({to_line(json), csv_lines(row, json)});
  }
  return document;
}

Expected<std::string> compare_report(ReportFormat format, const Comparison& comparison,
                                     const CompareReportOptions& options) {
  if (format == ReportFormat::kJunit) return compare_junit(comparison);
  const FormatFacts& facts = facts_of(format);
  if (facts.render != nullptr) {
    return facts.render(comparison_document(format, comparison, options), options.render);
  }
  return fail(fmt::format("the format {} cannot express a comparison, only one run", facts.name),
              fmt::format("print the new results in it instead: "
                          "`instr_bench baseline show FILE --format={}`",
                          facts.name));
}

}  // namespace instr
