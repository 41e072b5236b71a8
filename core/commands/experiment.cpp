#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/report/experiment_summary.h"
#include "core/results/experiment_log.h"
#include "core/results/results.h"
#include "core/run/experiment_file.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

constexpr const char* kUsualFile = "results.jsonl";

// The options with what the file says.
tl::expected<Options, Errors> with_file(Options options) {
  if (!options.operands.empty()) {
    auto source = SourceText::read(options.operands.front());
    if (!source) return tl::unexpected(Errors{source.error()});
    auto applied = apply_experiment_file(*source, options);
    if (!applied) return tl::unexpected(applied.error());
  }
  Selection& selection = options.selection;
  if (selection.runtimes.empty()) {
    for (const RuntimeFacts& known : kRuntimes) selection.runtimes.push_back(known.runtime);
  }
  selection = with_eager(selection);
  options.axes.devices = selection.devices;
  options.verify = true;
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
    return ExperimentSetting{options.repeat.value_or(options.repetitions),
                             options.iterations_per_run, session.libtorch().version,
                             entry_of(found.machine, "cpu_model")};
  });
}

// What is in the file, and what this run added.
struct Ran {
  std::vector<ExperimentRecord> records;
  std::size_t were_there = 0;  // the first ones
  double seconds = 0;          // that the others took, with compiling
  std::size_t unwritten = 0;   // that are not in the file
};

// "; 541 s, of which 216 s were timed": nothing where nothing was left to run.
std::string cost_of(const Ran& ran) {
  auto added = std::span(ran.records).subspan(ran.were_there);
  if (added.empty()) return "";
  return fmt::format("; {:.0f} s, of which {:.0f} s were timed", ran.seconds, timed_seconds(added));
}

ExitStatus show(const Options& options, const Ran& ran, bool is_interrupted) {
  const std::vector<ExperimentRecord>& records = ran.records;
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.color);
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
    print_message("interrupted; the same command goes on\n");
    return kInterrupted;
  }
  bool has_failed = std::any_of(records.begin(), records.end(), [](const auto& one) {
    return one.state == ExperimentState::kFailed || Verification{one.code, ""}.is_wrong();
  });
  return has_failed ? kNotMeasured : kGood;
}

// Runs what the file lacks.
Expected<Ran> run(const Options& options, const std::vector<Variant>& variants,
                  std::stop_token stop) {
  auto begin = std::chrono::steady_clock::now();
  Progress progress(progress_options(options));
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
  const std::filesystem::path file = options.output.value_or(kUsualFile);
  if (auto writable = ExperimentLog::check(file); !writable) {
    return tl::unexpected(writable.error());
  }
  auto session = Session::open(options, events, stop);
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
        fmt::format("{} of {} are there already", variants.size() - rest.size(), variants.size()));
  }
  progress.expect(rest.size());
  auto finished = session->experiment(rest, stop);
  const std::size_t unwritten = log->finish() ? 0 : log->unwritten();
  if (!finished && !stop.stop_requested()) return tl::unexpected(finished.error());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Ran{log->records(), were_there, took.count(), unwritten};
}

}  // namespace

ExitStatus experiment_command(const Options& given, std::stop_token stop) {
  auto options = with_file(given);
  if (!options) return refuse(options.error());
  auto variants = plan(*options);
  if (!variants) return refuse(variants.error());
  if (options->dry_run) return dry_run_command(*options);
  auto ran = run(*options, *variants, stop);
  if (!ran) return stop.stop_requested() ? kInterrupted : refuse(ran.error());
  return show(*options, *ran, stop.stop_requested());
}

}  // namespace instr
