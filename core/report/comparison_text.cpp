#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/format.h"
#include "core/profile/function_names.h"
#include "core/report/comparison_report.h"

namespace instr {

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

}  // namespace instr
