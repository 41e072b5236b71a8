#include "core/cli/showing.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/terminal.h"
#include "core/cli/values.h"
#include "core/compare/compare_report.h"

namespace instr {

namespace {

const Choices<ColorMode> kColors{
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

void declare_showing(CommandLine& line, Showing& showing) {
  line.flag("-q,--quiet", "no progress", [&showing](bool is_given) {
    if (is_given) showing.verbosity = Verbosity::kQuiet;
  });
  line.flag("-v,--verbose", "a line for each finished measurement", [&showing](bool is_given) {
    if (is_given) showing.verbosity = Verbosity::kVerbose;
  });
  line.option("--color", "WHEN", list_of(names_of(kColors)), take_choice(showing.color, kColors),
              names_of(kColors));
  line.flag("-h,--help", "print this", [](bool) {});
  line.check([&line]() -> Expected<void> {
    if (!line.has("quiet") || !line.has("verbose")) return {};
    return fail("--quiet and --verbose cannot go together", "leave one of them out");
  });
}

void declare_show_keys(CommandLine& line, Showing& showing) {
  line.flag("--show-keys", "rows are full keys, one measurement a line", showing.show_keys);
}

void declare_format(CommandLine& line, ReportFormat& format,
                    const std::vector<ReportFormat>& possible) {
  Choices<ReportFormat> formats;
  for (const auto& [name, known] : report_formats()) {
    const bool is_possible =
        possible.empty() || std::find(possible.begin(), possible.end(), known) != possible.end();
    if (is_possible) formats.emplace_back(name, known);
  }
  line.option("--format", "FORMAT", list_of(names_of(formats)), take_choice(format, formats),
              names_of(formats));
}

std::vector<ReportFormat> comparison_formats() {
  std::vector<ReportFormat> formats;
  for (const auto& [name, format] : report_formats()) {
    if (compare_report(format, {})) formats.push_back(format);
  }
  return formats;
}

ProgressOptions progress_options(const Showing& showing) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, showing.color), showing.verbosity};
}

ReportOptions report_options(const Showing& showing, const std::vector<std::string>& metrics) {
  Terminal terminal = inspect_terminal(STDOUT_FILENO, showing.color);
  ReportOptions report;
  report.width = terminal.width;
  report.color = terminal.color;
  report.show_keys = showing.show_keys;
  if (!metrics.empty()) report.metrics = metrics;
  return report;
}

Expected<void> prepare_comparison(ReportFormat format, CompareOptions& compare) {
  auto possible = compare_report(format, {});
  if (!possible) return tl::unexpected(possible.error());
  // Programs read all rows, people the first ones.
  if (format == ReportFormat::kJson || format == ReportFormat::kJsonl) {
    compare.most_attributions = 1000;
  }
  return {};
}

}  // namespace instr
