#include "core/report/comparison_report.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/environment.h"
#include "core/base/format.h"
#include "core/base/junit.h"
#include "core/definitions/variant.h"
#include "core/profile/function_names.h"

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
  for (const DeviceChange& change : attribution.device) {
    json["device"].push_back(
        {{"event", change.event.text}, {"caller", change.event.caller}, {"change", change.change}});
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

namespace {

constexpr double kFewDecimals = 10;  // changes from here on have one decimal, others up to three

std::string format_quantity(std::size_t count, const char* singular, const char* plural) {
  return format_count(static_cast<double>(count)) + " " + (count == 1 ? singular : plural);
}

// The decimals of a change, and of all parts that have to add up to it.
int choose_decimals(double change) { return std::fabs(change) >= kFewDecimals ? 1 : 3; }

double rounded(double value, int decimals) {
  double scale = decimals == 1 ? 10 : 1000;
  return std::round(value * scale) / scale;
}

// "+1,234.5"; `value` is rounded to that many decimals.
std::string signed_text(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  double size = std::fabs(value);
  std::string text = format_count(std::trunc(size));
  if (size != std::trunc(size)) {
    std::string fraction = fmt::format("{:.{}f}", size - std::trunc(size), decimals);
    text += fraction.substr(1, fraction.find_last_not_of('0'));
  }
  return (value < 0 ? "-" : "+") + text;
}

std::string function_text(const FunctionChange& part, const std::string& name) {
  if (!part.has_symbol) return name;
  if (part.state == FunctionState::kNew) return name + " (new)";
  if (part.state == FunctionState::kGone) return name + " (gone)";
  return part.same_name ? name : name + " (other parameters)";
}

std::string object_text(const FunctionChange& part) {
  if (!part.has_symbol) return "";
  std::string text = printable(part.object);
  return part.object_before.empty() ? text : text + ", was " + printable(part.object_before);
}

std::string calls_text(const FunctionChange& part) {
  std::string before = format_count(rounded(part.calls_before, 1));
  std::string after = format_count(rounded(part.calls_after, 1));
  return before == after ? "" : before + " -> " + after;
}

std::vector<std::string> short_names(const Attribution& attribution, std::size_t width) {
  constexpr std::size_t kMark = 19;  // columns of the longest mark behind a name
  std::vector<std::string> names;
  for (const FunctionChange& part : attribution.parts) names.push_back(part.function);
  return short_function_names(names, width == 0 ? 0 : width - std::min(width, kMark));
}

// "f now calls g", "f calls g 2 -> 3 times", "in f itself".
std::string call_text(const CallChange& change, const std::string& caller,
                      const std::string& callee) {
  if (change.callee.empty()) return "in " + caller + " itself";
  if (change.calls_before == 0) return caller + " now calls " + callee;
  if (change.calls_after == 0) return caller + " no longer calls " + callee;
  return fmt::format("{} calls {} {} -> {} times", caller, callee,
                     format_count(rounded(change.calls_before, 1)),
                     format_count(rounded(change.calls_after, 1)));
}

}  // namespace

std::string format_change(double change) {
  int decimals = choose_decimals(change);
  double value = rounded(change, decimals);
  if (value != 0 || change == 0 || !std::isfinite(change)) return signed_text(value, decimals);
  return fmt::format("{:+.1g}", change);
}

std::string format_relative(std::optional<double> relative) {
  if (!relative || *relative == 0 || std::isnan(*relative)) return "";
  if (std::isinf(*relative)) return "from 0";
  const char* sign = *relative < 0 ? "-" : "+";
  const double percent = std::fabs(*relative) * 100;
  if (percent < 0.005) return fmt::format("{}<0.01%", sign);
  if (percent < 9.995) return fmt::format("{}{:.2f}%", sign, percent);
  if (percent < 99.95) return fmt::format("{}{:.1f}%", sign, percent);
  return sign + format_count(std::round(percent)) + "%";
}

std::vector<AttributionLine> attribution_lines(const Attribution& attribution, std::size_t width) {
  const int decimals = choose_decimals(attribution.difference);
  std::vector<std::string> names = short_names(attribution, width);
  std::vector<AttributionLine> lines;
  std::vector<double> changes;
  std::size_t others = attribution.others;
  double unexplained = rounded(attribution.unexplained, decimals);
  double left = rounded(attribution.difference, decimals) - unexplained;
  for (std::size_t i = 0; i < attribution.parts.size(); ++i) {
    const FunctionChange& part = attribution.parts[i];
    double change = rounded(part.change, decimals);
    if (change == 0) {
      ++others;
      continue;
    }
    left -= change;
    changes.push_back(change);
    lines.push_back({"", function_text(part, names[i]), object_text(part), calls_text(part)});
  }
  // Without other functions, only parts that were rounded to 0 are left.
  if (attribution.others > 0 || (others > 0 && rounded(left, decimals) != 0)) {
    changes.push_back(left);
    lines.push_back({"", format_plural(others, "other function"), "", ""});
  } else if (!changes.empty() && unexplained == 0) {
    // Adds the rounding remainder to the largest part.
    changes.front() += left;
  } else {
    unexplained += left;
  }
  if (unexplained != 0) {
    changes.push_back(unexplained);
    lines.push_back({"", "in no function of the profiles", "", ""});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].change = signed_text(rounded(changes[i], decimals), decimals);
  }
  return lines;
}

std::vector<CallLine> call_lines(const Attribution& attribution, std::size_t width) {
  std::size_t words = 0;  // columns of the longest text around two names
  std::vector<std::string> names;
  for (const CallChange& call : attribution.calls) {
    words = std::max(words, call_text(call, "", "").size());
    names.push_back(call.caller);
    names.push_back(call.callee);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::size_t name_width = width == 0 ? 0 : (width - std::min(width, words)) / 2;
  const std::vector<std::string> short_names = short_function_names(names, name_width);
  const auto name_of = [&](const std::string& name) {
    return short_names[static_cast<std::size_t>(std::lower_bound(names.begin(), names.end(), name) -
                                                names.begin())];
  };
  const int decimals = choose_decimals(attribution.difference);
  std::vector<CallLine> lines;
  for (const CallChange& call : attribution.calls) {
    const double change = rounded(call.change, decimals);
    if (change == 0) continue;
    lines.push_back({signed_text(change, decimals),
                     call_text(call, name_of(call.caller), name_of(call.callee))});
  }
  return lines;
}

std::string verdict_line(const Comparison& comparison) {
  const ComparisonSummary& summary = comparison.summary;
  std::vector<std::string> parts;
  if (std::size_t fails = summary.count(Verdict::kFails); fails > 0) {
    parts.push_back(format_quantity(fails, "benchmark fails", "benchmarks fail"));
  }
  if (std::size_t warns = summary.count(Verdict::kWarns); warns > 0) {
    parts.push_back(format_quantity(warns, "warns", "warn"));
  }
  if (std::size_t gains = summary.count(Verdict::kGain); gains > 0) {
    parts.push_back(format_count(static_cast<double>(gains)) +
                    " gained more than the limit: refresh the baseline");
  }
  if (!parts.empty()) return fmt::format("{}", fmt::join(parts, ", "));
  if (summary.comparable == 0) return "nothing was judged";
  if (comparison.verdict == Verdict::kFails) return "the comparison fails";
  std::string line = "all within the limits";
  if (const std::size_t failed = summary.count(RowState::kFailedBefore); failed > 0) {
    line = fmt::format("within the limits, but {} that failed before could not be judged",
                       format_quantity(failed, "benchmark", "benchmarks"));
  }
  return comparison.verdict == Verdict::kWarns ? line + ", with a warning" : line;
}

std::string comparison_summary_line(const ComparisonSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : summary.rows) {
    parts.push_back(format_count(static_cast<double>(count)) + " " + to_string(state));
  }
  std::string line = parts.empty() ? "no benchmarks" : fmt::format("{}", fmt::join(parts, ", "));
  if (!summary.ratio) return line;
  std::string ratio = format_relative(*summary.ratio - 1);
  return line + "; instructions on the geometric mean: " + (ratio.empty() ? "equal" : ratio) +
         " (" + format_plural(summary.ratio_rows, "benchmark") + ")";
}

namespace {

// "launch", "bytes=4", and the function or the direction of "launch stream=0 grid=1,1,1 ... NAME".
struct DeviceEventParts {
  std::string kind, bytes, name;
};

DeviceEventParts parts_of(const std::string& event) {
  static const RE2 kParts(R"((\S+)((?: \w+=\S+)*) (.*))");
  static const RE2 kBytes(R"(bytes=(\d+))");
  DeviceEventParts parts;
  std::string details;
  RE2::FullMatch(event, kParts, &parts.kind, &details, &parts.name);
  RE2::PartialMatch(details, kBytes, &parts.bytes);
  return parts;
}

}  // namespace

std::vector<std::string> device_lines(const Attribution& attribution, std::size_t width) {
  std::vector<DeviceEventParts> events;
  std::vector<std::string> names;
  for (const DeviceChange& change : attribution.device) {
    events.push_back(parts_of(change.event.text));
    names.push_back(events.back().name);
  }
  names = short_function_names(names, width);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const DeviceChange& change = attribution.device[i];
    lines.push_back(
        fmt::format("{:+} {} {}{}{}", change.change, events[i].kind, names[i],
                    events[i].bytes.empty() ? "" : ", " + events[i].bytes + " bytes",
                    change.event.caller.empty() ? "" : ", by " + printable(change.event.caller)));
  }
  return lines;
}

// A comparison as JUnit XML.

namespace {

std::string value_text(const std::optional<double>& value) {
  return value ? format_count(*value) : "none";
}

// "instructions 5,357 -> 10,714 (+5,357, +100%)"
std::string change_text(const MetricChange& metric) {
  std::string text = fmt::format("{} {} -> {}", printable(metric.metric), value_text(metric.before),
                                 value_text(metric.after));
  auto change = metric.change();
  if (!change || *change == 0) return text;
  std::string relative = format_relative(metric.relative());
  return text + " (" + format_change(*change) + (relative.empty() ? "" : ", " + relative) + ")";
}

std::string attribution_text(const ComparedRow& row) {
  if (!row.attribution) return "";
  std::string text = "where the " + printable(row.attribution->metric) + " changed:\n";
  for (const std::string& line : device_lines(*row.attribution, 0)) text += "  " + line + "\n";
  for (const CallLine& line : call_lines(*row.attribution, 0)) {
    text += "  " + line.change + "  " + line.text + "\n";
  }
  for (const AttributionLine& line : attribution_lines(*row.attribution, 0)) {
    std::string object = line.object.empty() ? "" : "  [" + line.object + "]";
    std::string calls = line.calls.empty() ? "" : ", calls " + line.calls;
    text += "  " + line.change + "  " + line.function + object + calls + "\n";
  }
  return text;
}

// The metrics that have this verdict, and what they were compared with.
std::vector<std::string> verdict_texts(const ComparedRow& row, Verdict verdict) {
  std::vector<std::string> texts;
  for (const MetricChange& metric : row.metrics) {
    if (metric.verdict != verdict) continue;
    const auto& limit = verdict == Verdict::kWarns ? metric.soft : metric.hard;
    texts.push_back(change_text(metric) + (limit ? ", limit " + to_string(*limit) : std::string()));
  }
  return texts;
}

// In one line: "slower, fails: instructions … limit 0.5%", "missing, fails: …".
std::string format_message(const ComparedRow& row) {
  std::string message = to_string(row.state);
  std::vector<std::string> texts;
  if (row.verdict != Verdict::kPasses) {
    message += std::string(", ") + to_string(row.verdict);
    texts = verdict_texts(row, row.verdict);
  }
  if (!row.reason.empty()) texts.push_back(row.reason.substr(0, row.reason.find('\n')));
  return texts.empty() ? message : fmt::format("{}: {}", message, fmt::join(texts, "; "));
}

std::string format_row(const ComparedRow& row) {
  std::string text = row.reason.empty() ? "" : row.reason + "\n";
  for (const LimitChange& change : row.limit_changes) text += to_string(change) + "\n";
  for (const MetricChange& metric : row.metrics) text += change_text(metric) + "\n";
  return text + attribution_text(row);
}

JunitCase make_case(const ComparedRow& row) {
  const std::string label = parse_key(row.key).label;
  JunitCase made;
  made.classname = label.empty() ? row.key : label;
  made.name = row.key;
  if (row.verdict == Verdict::kFails) {
    made.result = JunitResult::kFailure;
    made.type = to_string(row.state);
    made.message = format_message(row);
    made.text = format_row(row);
  } else if (row.state == RowState::kSkipped) {
    made.result = JunitResult::kSkipped;
    made.message = row.reason;
  } else {
    made.output = format_message(row) + "\n" + format_row(row);
  }
  return made;
}

JunitCase make_problems_case(const Comparison& comparison) {
  JunitCase made;
  made.classname = "instr_bench";
  made.name = "the comparison as a whole";
  std::string text = fmt::format("{}", fmt::join(comparison.problems, "\n"));
  bool row_fails = comparison.summary.count(Verdict::kFails) > 0;
  if (comparison.verdict != Verdict::kFails || row_fails) {
    made.output = text;
    return made;
  }
  made.result = JunitResult::kFailure;
  made.type = "comparison";
  made.message = text.empty() ? "the comparison fails" : comparison.problems.front();
  made.text = text;
  return made;
}

}  // namespace

std::string compare_junit(const Comparison& comparison) {
  JunitSuite suite;
  suite.name = "instr_bench compare";
  suite.properties = {{"before", comparison.before_name},
                      {"after", comparison.after_name},
                      {"verdict", to_string(comparison.verdict)},
                      {"summary", comparison_summary_line(comparison.summary)}};
  bool fails_as_a_whole =
      comparison.verdict == Verdict::kFails && comparison.summary.count(Verdict::kFails) == 0;
  if (!comparison.problems.empty() || fails_as_a_whole) {
    suite.cases.push_back(make_problems_case(comparison));
  }
  for (const ComparedRow& row : comparison.rows) suite.cases.push_back(make_case(row));
  return junit_xml(suite);
}

}  // namespace instr
