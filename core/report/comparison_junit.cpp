// A comparison as JUnit XML.
#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/junit.h"
#include "core/definitions/variant.h"
#include "core/report/comparison_report.h"

namespace instr {

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
