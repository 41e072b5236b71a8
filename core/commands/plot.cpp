#include "core/report/plot.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/report/formats.h"
#include "core/results/baselines.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

struct PlotArguments {
  std::vector<std::string> operands;
  Selection selection;
  std::vector<std::string> metrics;
  PlotOptions plot;
  Incomplete incomplete = Incomplete::kRefused;
  std::optional<fs::path> output;
  std::optional<ReportFormat> format;  // absent: SVG
  Showing showing;
};

constexpr FileKind kPicture{"a picture (SVG)", [](std::string_view start) {
                              return start.substr(0, 4096).find("<svg") != std::string_view::npos;
                            }};

// Speed-ups over eager need eager, whatever --backend names.
Selection selection_of(const PlotArguments& options) {
  const bool has_speedups = !options.plot.kind || options.plot.kind == ChartKind::kSpeedup ||
                            options.plot.kind == ChartKind::kDistribution;
  return has_speedups ? with_eager(options.selection) : options.selection;
}

Expected<Chart> read_chart(const PlotArguments& options) {
  TRY_ASSIGN(const auto file, find_baseline(options.operands[0]));
  TRY_ASSIGN(auto results, read_results(file, options.incomplete));
  TRY_ASSIGN(const auto drawn, select(std::move(results.measurements), selection_of(options)));
  return make_chart(drawn, options.plot);
}

Expected<void> check_output(const PlotArguments& options) {
  if (options.output && options.format) {
    return fail("--output writes an SVG, and --format the values to standard output",
                "omit one of them");
  }
  if (options.output || options.format || isatty(STDOUT_FILENO) == 0) return {};
  return fail("standard output is a terminal, which cannot show an SVG",
              "write it to a file with --output=FILE");
}

ExpectedStatus run_plot(const PlotArguments& options, std::stop_token stop) {
  TRY(check_output(options));
  std::optional<OutputFile> output;
  if (options.output) {
    TRY_ASSIGN(output, OutputFile::open(*options.output, kPicture));
  }
  if (!options.format) TRY(find_gnuplot());  // fails before a large file is read
  TRY_ASSIGN(auto chart, read_chart(options));
  if (options.format) {
    print_output(render(*options.format, chart_document(chart), render_options(options.showing)));
    return kGood;
  }
  auto picture = draw_svg(chart, stop);
  if (stop.stop_requested()) return kInterrupted;
  TRY(picture);
  if (chart.left_out > 0 && options.showing.verbosity != Verbosity::kQuiet) {
    print_message(fmt::format("left out: {} that did not pass verification\n",
                              format_plural(chart.left_out, "measurement")));
  }
  if (!output) {
    print_output(*picture);
    return kGood;
  }
  TRY(write_to(std::move(*output), *picture));
  return kGood;
}

// --metrics and --by are for growth alone.
Expected<void> check_kind(const std::vector<std::string>& metrics, PlotOptions& plot) {
  if (metrics.size() > 1) {
    return fail("plot draws one metric", "name one, such as --metrics=allocs");
  }
  if (metrics.empty() && !plot.by) return {};
  if (!metrics.empty()) plot.metric = metrics[0];
  if (plot.kind.value_or(ChartKind::kGrowth) != ChartKind::kGrowth) {
    return fail("--metrics and --by go with --kind=growth", "leave them out, or draw that");
  }
  plot.kind = ChartKind::kGrowth;
  return {};
}

Take take_kind(std::optional<ChartKind>& kind, const Choices<ChartKind>& kinds) {
  return [&kind, kinds](const Given& given) {
    return choice_from(given, kinds).map([&kind](ChartKind value) { kind = value; });
  };
}

}  // namespace

Action plot_command(CommandLine& line) {
  auto options = std::make_shared<PlotArguments>();
  Choices<ChartKind> kinds;
  for (ChartKind kind : kChartKinds) kinds.emplace_back(to_string(kind), kind);
  line.describe(
      "Draws results (a file that --output wrote, or a baseline's name) as SVG, with gnuplot. "
      "Without --kind, draws the first kind that the results have data for.");
  line.operands({"NAME|FILE", 1, 1}, options->operands);
  line.group("What to draw");
  line.option(
      "--kind", "KIND",
      "speedup: how many times as fast as eager the other backends are, a bar each, without "
      "results that failed verification; growth: a metric against a parameter of a definition's "
      "matrix, a line for each benchmark and backend; memory: wall time against peak "
      "memory, a point for each; distribution: which share of the benchmarks is how many times as "
      "fast as eager, a line for each backend",
      take_kind(options->plot.kind, kinds), names_of(kinds));
  declare_metrics(line, options->metrics);
  line.option("--by", "PARAM", "of growth: the parameter, where there is more than one",
              take_text(options->plot.by));
  line.flag("--sorted", "of speedup: the greatest first, instead of by name",
            options->plot.is_sorted);
  line.option("-o,--output", "FILE", "write the SVG there (default: standard output)",
              take_path(options->output));
  declare_incomplete(line, options->incomplete, "the results may be of a run that did not finish");
  declare_selection(line, options->selection);
  line.group("What to show");
  declare_format(line, options->format, "svg", "all but svg show the values");
  declare_showing(line, options->showing);
  line.check([options = options.get()] { return check_kind(options->metrics, options->plot); });
  line.section("Exit status", "  0 drawn; 2 nothing to draw, or no gnuplot; 130 interrupted\n");
  return [options](const Invocation& invocation) { return run_plot(*options, invocation.stop); };
}

}  // namespace instr
