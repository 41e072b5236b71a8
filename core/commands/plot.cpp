#include "core/report/plot.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/format.h"
#include "core/base/private_folder.h"
#include "core/base/replace_file.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/results/baselines.h"
#include "core/results/experiment_log.h"
#include "core/results/results.h"

namespace instr {

namespace fs = std::filesystem;

namespace {

constexpr const char* kGnuplot = "gnuplot";

// Where gnuplot says what it does not understand, behind the lines that it stands in.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return printable(text.substr(text.rfind('\n') + 1));
}

// As a file, not on standard input: gnuplot then ends at the first line that it cannot read.
Expected<std::string> draw(const std::string& script, std::stop_token stop) {
  auto program = find_program(kGnuplot);
  if (!program) {
    return fail("plot needs gnuplot, which is not on PATH",
                "install it: apt-get install gnuplot-nox");
  }
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  fs::path file = folder->path() / "plot.gp";
  if (auto written = replace_file(file, script); !written) return tl::unexpected(written.error());
  SpawnOptions spawn;
  // Neither the user's settings nor the locale: the same results are the same picture.
  spawn.argv = {program->string(), "--default-settings", file.string()};
  spawn.environment = {{"LC_ALL=C.UTF-8"}};
  auto ran = run_command(std::move(spawn), stop);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->exit_code != 0 || ran->output.find("</svg>") == std::string::npos) {
    return fail("gnuplot could not draw the picture: " + last_line(ran->errors),
                "version 5.4 or newer is needed: gnuplot --version");
  }
  return std::move(ran->output);
}

Expected<void> write_picture(const fs::path& to, const std::string& svg) {
  fs::path file = follow_links(to);
  std::error_code error;
  fs::file_status status = fs::status(file, error);
  if (fs::is_regular_file(status) || !fs::exists(status)) {
    return replace_file(file, svg).map([](const Fd&) {});
  }
  // A pipe, a terminal: nothing is to be put in its place.
  Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return tl::unexpected(write_error(to, errno));
  Written written = write_all(fd.get(), svg);
  if (written.error != 0) return tl::unexpected(write_error(to, written.error));
  return {};
}

// Of a run's results file, or of one of experiments.
Expected<std::vector<Measurement>> measurements_in(const fs::path& file) {
  auto results = read_results(file);
  if (results) return std::move(results->measurements);
  auto records = read_experiments(file);
  if (!records || records->empty()) return tl::unexpected(results.error());
  std::vector<Measurement> measurements;
  for (const ExperimentRecord& record : *records) measurements.push_back(measurement_of(record));
  return measurements;
}

Expected<Chart> chart_of(const Options& options) {
  auto wanted = selector(options.selection);
  if (!wanted) return tl::unexpected(wanted.error());
  auto measurements = find_baseline(options.operands[0]).and_then(measurements_in);
  if (!measurements) return tl::unexpected(measurements.error());
  std::erase_if(*measurements,
                [&wanted](const Measurement& one) { return !(*wanted)(one.variant); });
  if (measurements->empty()) {
    return fail(fmt::format("nothing in {} is chosen", options.operands[0]),
                "see what it has: instr_bench baseline show " + options.operands[0]);
  }
  return make_chart(*measurements, options.plot);
}

}  // namespace

ExitStatus plot_command(const Options& options, std::stop_token stop) {
  auto chart = chart_of(options);
  if (!chart) return refuse(chart.error());
  auto svg = draw(plot_script(*chart), stop);
  if (stop.stop_requested()) return kInterrupted;
  if (!svg) return refuse(svg.error());
  if (chart->left_out > 0 && options.verbosity != Verbosity::kQuiet) {
    fmt::print(stderr, "left out: {} that did not pass verification\n",
               format_plural(chart->left_out, "measurement"));
  }
  if (!options.output) {
    fmt::print("{}", *svg);
    return kGood;
  }
  auto written = write_picture(*options.output, *svg);
  return written ? kGood : refuse(written.error());
}

}  // namespace instr
