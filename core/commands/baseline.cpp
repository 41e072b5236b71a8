#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/results/baselines.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

struct BaselineArguments {
  std::vector<std::string> operands;
  Selection selection;
  std::vector<std::string> metrics;
  Incomplete incomplete = Incomplete::kRefused;
  ReportFormat format = ReportFormat::kTable;
  Showing showing;
};

// "main  473 benchmarks  LibTorch 2.13.0  2026-11-21T11:16:10Z", or the error.
std::string baseline_line(const std::string& name, std::size_t width) {
  auto results =
      find_baseline(name).and_then([](const fs::path& file) { return read_results(file); });
  std::string line = pad_right(name, width) + "  ";
  if (!results) return line + to_string(results.error()) + "\n";
  return line + fmt::format("{}  LibTorch {}  {}\n",
                            format_plural(results->measurements.size(), "benchmark"),
                            printable(results->header.fingerprint.get("libtorch_version")),
                            printable(results->header.started));
}

ExpectedStatus list_baselines() {
  std::vector<std::string> names = baseline_names();
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  for (const std::string& name : names) print_output(baseline_line(name, width));
  if (names.empty()) {
    print_message(fmt::format("no baselines in {}: make one with instr_bench --save=NAME\n",
                              baselines_folder().string()));
  }
  return kGood;
}

ExpectedStatus show_baseline(const BaselineArguments& options, const std::string& name) {
  TRY_ASSIGN(const auto file, find_baseline(name));
  TRY_ASSIGN(auto results, read_results(file, options.incomplete));
  TRY_ASSIGN(auto shown, select(std::move(results.measurements), options.selection));
  ReportOptions report_as = report_options(options.showing, options.metrics);
  report_as.header = results.header;
  report_as.is_complete = results.is_complete;
  print_output(report(options.format, shown, report_as));
  return kGood;
}

ExpectedStatus run_baseline(const BaselineArguments& options) {
  const std::string& what = options.operands[0];
  std::vector<std::string> names(options.operands.begin() + 1, options.operands.end());
  if (what == "list" && names.empty()) return list_baselines();
  if (what == "show" && names.size() == 1) return show_baseline(options, names[0]);
  if (what == "remove" && !names.empty()) {
    for (const std::string& name : names) {
      TRY(remove_baseline(name));
    }
    return kGood;
  }
  return fail("`baseline` takes `list`, `show NAME` or `remove NAME`",
              "see instr_bench baseline --help");
}

}  // namespace

Action baseline_command(CommandLine& line) {
  auto options = std::make_shared<BaselineArguments>();
  line.describe(
      "Baselines are results files that instr_bench --save=NAME wrote, in the folder "
      ".instr_bench/baselines of the project (the nearest folder, upwards from here, that has "
      ".instr_bench or .git), or in INSTR_BENCH_BASELINES if that is set. Commit one, or keep the "
      "folder in a CI cache. show prints any results file in any format.");
  line.operands({"list, show NAME|FILE or remove NAME...", 1, kMaxOperands}, options->operands);
  declare_selection(line, options->selection);
  line.group("What to show");
  declare_format(line, options->format);
  declare_metrics(line, options->metrics);
  declare_show_keys(line, options->showing);
  declare_incomplete(line, options->incomplete,
                     "the results may be from a run that did not finish");
  std::vector<std::string> of_show;
  for (const OptionInfo& option : line.options()) of_show.push_back(option.name);
  line.needs(
      of_show, [options = options.get()] { return options->operands[0] == "show"; },
      "`baseline show`");
  declare_showing(line, options->showing);
  return [options](const Invocation&) { return run_baseline(*options); };
}

}  // namespace instr
