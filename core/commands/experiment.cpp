#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/cli/experiment_file.h"
#include "core/cli/measuring.h"
#include "core/cli/selecting.h"
#include "core/cli/values.h"
#include "core/commands/commands.h"
#include "core/commands/list.h"
#include "core/definitions/definition_keys.h"
#include "core/engine/pipeline.h"
#include "core/report/experiment_summary.h"
#include "core/results/experiment_log.h"
#include "core/results/results.h"

namespace instr {

namespace {

struct Options : ExperimentOptions {
  std::vector<std::string> files;
  MeasureConfig measure;
  bool is_dry_run = false;
  std::filesystem::path output = "results.jsonl";
  ReportFormat format = ReportFormat::kTable;
  Showing showing;
};

// The options completed from the file.
tl::expected<Options, Errors> with_file(Options options) {
  if (!options.files.empty()) {
    auto source = SourceText::read(options.files.front());
    if (!source) return tl::unexpected(Errors{source.error()});
    auto applied = apply_experiment_file(*source, options);
    if (!applied) return tl::unexpected(applied.error());
  }
  Selection& selection = options.plan.selection;
  if (selection.runtimes.empty()) {
    for (const RuntimeFacts& known : kRuntimes) selection.runtimes.push_back(known.runtime);
  }
  selection = with_eager(selection);
  options.plan.axes.devices = selection.devices;
  MeasureConfig& measure = options.measure;
  measure.wants_counts = false;
  measure.wants_times = true;
  measure.verify = true;
  measure.timeout = options.timeout;
  measure.iterations = options.iterations_per_run;
  if (options.repeat) measure.repetitions = *options.repeat;
  return options;
}

std::string entry_of(const Fingerprint::Entries& entries, const std::string& name) {
  for (const auto& [known, value] : entries) {
    if (known == name) return value;
  }
  return "";
}

Expected<ExperimentSetting> setting_of(const Options& options, Session& session,
                                       std::stop_token stop) {
  return session.fingerprint(stop).map([&](const Fingerprint& found) {
    return ExperimentSetting{options.measure.repetitions, options.measure.iterations,
                             session.libtorch().version, entry_of(found.machine, "cpu_model")};
  });
}

// The records in the file, old and new.
struct Ran {
  std::vector<ExperimentRecord> records;
  std::size_t were_there = 0;  // the first ones
  double seconds = 0;          // taken by the others, with compiling
  std::size_t unwritten = 0;   // not in the file
};

// "; 541 s, of which 216 s were timed": nothing if nothing was left to run.
std::string cost_of(const Ran& ran) {
  auto added = std::span(ran.records).subspan(ran.were_there);
  if (added.empty()) return "";
  return fmt::format("; {:.0f} s, of which {:.0f} s were timed", ran.seconds, timed_seconds(added));
}

ExitStatus show(const Options& options, const Ran& ran, bool is_interrupted) {
  const std::vector<ExperimentRecord>& records = ran.records;
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  Grid grid = experiment_grid(summarize_experiments(records));
  std::string table = options.format == ReportFormat::kMarkdown
                          ? markdown_of(grid, "backend")
                          : table_of(grid, "by backend:", terminal.width, terminal.color);
  print_output(fmt::format("{}\n{}{}\n", table, experiment_line(records), cost_of(ran)));
  if (ran.unwritten != 0) {
    print_message(
        fmt::format("error: {} could not be written; the same command measures {} again\n",
                    format_plural(ran.unwritten, "result"), ran.unwritten == 1 ? "it" : "them"));
    return kBadSetup;
  }
  if (is_interrupted) {
    print_message("interrupted; the same command resumes\n");
    return kInterrupted;
  }
  bool has_failed = std::any_of(records.begin(), records.end(), [](const auto& one) {
    return one.state == ExperimentState::kFailed || Verification{one.code, ""}.is_wrong();
  });
  return has_failed ? kNotMeasured : kGood;
}

// Runs the experiments that the file lacks.
Expected<Ran> measure(const Options& options, const std::vector<Variant>& variants,
                      std::stop_token stop) {
  auto begin = std::chrono::steady_clock::now();
  Progress progress(progress_options(options.showing));
  std::optional<ExperimentLog> log;
  std::optional<ExperimentSetting> setting;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& measurement) {
    ExperimentRecord record = record_of(measurement, *setting);
    record.timestamp = utc_now();
    record.experiments = variants.size();
    const bool could_write = log->unwritten() == 0;
    auto written = log->append(std::move(record));
    if (!written && could_write) {
      progress.print(STDERR_FILENO, "error: " + to_string(written.error()) + "\n");
    }
    progress.finished(measurement);
  };
  const std::filesystem::path& file = options.output;
  if (auto writable = ExperimentLog::check(file); !writable) {
    return tl::unexpected(writable.error());
  }
  auto session = Session::open(options.measure, events, stop);
  if (!session) return tl::unexpected(session.error());
  auto found = setting_of(options, *session, stop);
  if (!found) return tl::unexpected(found.error());
  setting = *found;
  auto opened = ExperimentLog::open(file, variants, *setting);
  if (!opened) return tl::unexpected(opened.error());
  log = std::move(*opened);
  const std::size_t were_there = log->records().size();
  auto rest = log->missing(variants);
  if (rest.size() != variants.size()) {
    progress.note(
        fmt::format("{} of {} are already there", variants.size() - rest.size(), variants.size()));
  }
  progress.expect(rest.size());
  auto finished = session->experiment(rest, stop);
  const std::size_t unwritten = log->finish() ? 0 : log->unwritten();
  if (!finished && !stop.stop_requested()) return tl::unexpected(finished.error());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Ran{log->records(), were_there, took.count(), unwritten};
}

ExitStatus run(const Options& given, std::stop_token stop) {
  auto options = with_file(given);
  if (!options) return refuse(options.error());
  if (options->is_dry_run) return show_dry_run(options->plan, options->measure, options->showing);
  auto variants = plan(options->plan);
  if (!variants) return refuse(variants.error());
  auto ran = measure(*options, *variants, stop);
  if (!ran) return stop.stop_requested() ? kInterrupted : refuse(ran.error());
  return show(*options, *ran, stop.stop_requested());
}

// An axis given as a list, each item as in the file.
template <class T, class Convert>
Take axis(std::vector<T>& values, Convert convert) {
  return each_item([&values, convert](const Given& given) {
    return convert(given.value).map([&values](T&& value) { values.push_back(std::move(value)); });
  });
}

void declare_axes(CommandLine& line, Options& options) {
  Selection& selection = options.plan.selection;
  ExperimentAxes& axes = options.plan.axes;
  line.option("--accelerator", "LIST", "cpu, cuda (default: as in the definitions)",
              axis(selection.devices, accelerator_from), known_devices());
  std::vector<std::string> backends;
  for (const RuntimeFacts& known : kRuntimes) backends.emplace_back(known.name);
  line.option("--backend", "LIST",
              fmt::format("{} (default: all); eager is always included", fmt::join(backends, ", ")),
              axis(selection.runtimes, backend_from), backends);
  line.option("--test", "LIST", "eval (forward), train (with backward); default: both",
              axis(selection.autograds, test_from), {"eval", "train"});
  line.option("--dtype", "LIST",
              "float32, float64, float16, bfloat16: for tensors without an explicit type "
              "(float32)",
              axis(axes.data_types, data_type_from),
              {std::begin(kDataTypes), std::end(kDataTypes)});
  line.option("--threads", "LIST",
              "measure with these numbers of threads, whatever the definitions say",
              add_numbers(axes.threads, 1, kMaxThreads));
  line.option("--batch-size", "LIST", "the same for definitions with a parameter batch_size",
              add_numbers(axes.batch_sizes, 1, kMostBatch));
}

}  // namespace

Action experiment_command(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.describe(
      "Measures the product of the axes below over the definitions: each experiment is verified "
      "and "
      "timed in a fresh process, and is a line of the results file, from which the same command "
      "resumes after an interruption. Ends with a summary by backend. FILE, in TOML, uses the same "
      "names (batch_size, iterations_per_run); options override it.");
  line.operands({"[FILE.toml]", 0, 1}, options->files);
  line.group("What to measure");
  declare_filters(line, options->plan.selection);
  declare_definitions(line, options->plan);
  declare_axes(line, *options);
  line.group("How to measure");
  line.option("--repeat", "N", "timed runs (10)",
              take_number(options->repeat, 2, kMostRepetitions));
  line.option("--iterations-per-run", "N", "default: as many as fill --min-time",
              take_number(options->iterations_per_run, 1, kMaxIterations));
  line.option("--min-time", "SECONDS", "the minimum length of each run (0.05)",
              take_seconds(options->measure.min_time));
  line.option("--timeout", "SECONDS", "the maximum for one experiment",
              take_seconds(options->timeout));
  declare_tools(line, options->measure.tools);
  declare_build(line, options->plan.build);
  line.group("What to show and keep");
  line.option("-o,--output", "FILE", "the results, a line of JSON each (results.jsonl)",
              take_path(options->output));
  declare_format(line, options->format, experiment_formats());
  line.flag("--dry-run", "list the experiments without running them", options->is_dry_run);
  declare_showing(line, options->showing);
  line.section("Exit status",
               "  0 success; 1 something failed or computes a different result; 2 wrong usage or\n"
               "  setup; 130 interrupted, with the results so far kept\n");
  return [options](const Invocation& invocation) { return run(*options, invocation.stop); };
}

}  // namespace instr
