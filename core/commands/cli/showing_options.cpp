#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/terminal.h"
#include "core/commands/cli/options.h"
#include "core/commands/cli/values.h"
#include "core/report/comparison_report.h"
#include "core/report/formats.h"

namespace instr {

namespace {

const Choices<ColorMode> kColors{
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

std::vector<ReportFormat> formats_that(bool (*has_it)(const FormatFacts& known)) {
  std::vector<ReportFormat> formats;
  for (const FormatFacts& known : kReportFormats) {
    if (has_it(known)) formats.push_back(known.format);
  }
  return formats;
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
    return fail("--quiet and --verbose cannot go together", "omit one of them");
  });
}

void declare_show_keys(CommandLine& line, Showing& showing) {
  line.flag("--show-keys", "rows are full keys, one measurement per line", showing.show_keys);
}

void declare_format(CommandLine& line, ReportFormat& format) {
  declare_format(line, format, formats_that([](const FormatFacts&) { return true; }));
}

void declare_format(CommandLine& line, ReportFormat& format,
                    const std::vector<ReportFormat>& possible) {
  Choices<ReportFormat> formats;
  std::vector<std::string> help;
  for (const ReportFormat shown : possible) {
    const FormatFacts& facts = facts_of(shown);
    formats.emplace_back(facts.name, shown);
    help.push_back(fmt::format("{} ({})", facts.name, facts.purpose));
  }
  line.option("--format", "FORMAT", list_of(help), take_choice(format, formats), names_of(formats));
}

void declare_format(CommandLine& line, std::optional<ReportFormat>& format, const char* usual,
                    const char* help) {
  Choices<std::optional<ReportFormat>> formats{{usual, std::nullopt}};
  for (const ReportFormat shown : document_formats())
    formats.emplace_back(facts_of(shown).name, shown);
  line.option("--format", "FORMAT", fmt::format("{}: {}", list_of(names_of(formats)), help),
              take_choice(format, formats), names_of(formats));
}

std::vector<ReportFormat> comparison_formats() {
  return formats_that(
      [](const FormatFacts& known) { return compare_report(known.format, {}).has_value(); });
}

void declare_lines(CommandLine& line, bool& wants_lines, const ReportFormat& format) {
  line.flag("--lines",
            "also show which lines of source cost more or less, where there are line numbers",
            wants_lines);
  line.needs(
      {"lines"},
      [&format] {
        return format == ReportFormat::kTable || format == ReportFormat::kJson ||
               format == ReportFormat::kJsonl;
      },
      "--format=table, json or jsonl");
}

void declare_flames(CommandLine& line, std::optional<fs::path>& folder, const char* source) {
  line.option(
      "--flame", "DIR",
      fmt::format("also write there a page for each benchmark whose instructions changed: a "
                  "flame graph of what each path of calls costs more or less, exactly, {}",
                  source),
      take_path(folder));
}

ProgressOptions progress_options(const Showing& showing) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, showing.color), showing.verbosity};
}

RenderOptions render_options(const Showing& showing) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, showing.color);
  return {static_cast<std::size_t>(std::max(terminal.width, 0)), terminal.color};
}

ReportOptions report_options(const Showing& showing, const std::vector<std::string>& metrics) {
  const Terminal terminal = inspect_terminal(STDOUT_FILENO, showing.color);
  ReportOptions report;
  report.width = terminal.width;
  report.color = terminal.color;
  report.show_keys = showing.show_keys;
  if (!metrics.empty()) report.metrics = metrics;
  return report;
}

Expected<void> prepare_comparison(ReportFormat format, CompareOptions& compare) {
  TRY(compare_report(format, {}));
  if (facts_of(format).has_all_attributions) {
    compare.max_attributions = 1000;
    compare.attribution = AttributionOptions::all();
  }
  return {};
}

}  // namespace instr
