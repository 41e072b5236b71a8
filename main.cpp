// instr_bench: the pipeline, top to bottom. Load definitions, expand to variants, select, compile,
// measure, store, report.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/doctor.h"
#include "core/expand.h"
#include "core/installation.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/load.h"
#include "core/options.h"
#include "core/progress.h"
#include "core/recorder.h"
#include "core/report.h"
#include "core/results.h"
#include "core/select.h"
#include "core/session.h"
#include "core/terminal.h"
#include "core/watch.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

enum ExitStatus { kGood = 0, kNotMeasured = 1, kBadSetup = 2, kInterrupted = 130 };

void show(const Error& error) { fmt::print(stderr, "error: {}\n", to_string(error)); }

ExitStatus refuse(const Errors& errors) {
  for (const auto& error : errors) show(error);
  return kBadSetup;
}

std::vector<std::filesystem::path> definition_paths(const Options& options) {
  if (!options.definitions.empty()) return options.definitions;
  return {find_installation().definitions};
}

tl::expected<std::vector<Variant>, Errors> plan(const Options& options) {
  auto definitions = load_definitions(definition_paths(options));
  if (!definitions) return tl::unexpected(definitions.error());
  auto variants = expand(*definitions);
  if (!variants) return variants;
  auto wanted = select(std::move(*variants), options.selection);
  if (!wanted) return tl::unexpected(Errors{wanted.error()});
  if (options.reverse_order) std::reverse(wanted->begin(), wanted->end());
  return std::move(*wanted);
}

bool all_measured(const std::vector<Measurement>& measurements) {
  return std::none_of(measurements.begin(), measurements.end(), [](const auto& one) {
    return std::holds_alternative<Failure>(one.outcome);
  });
}

ReportOptions report_options(const Options& options) {
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.color);
  ReportOptions report;
  report.width = terminal.width;
  report.color = terminal.color;
  if (!options.metrics.empty()) report.metrics = options.metrics;
  return report;
}

ProgressOptions progress_options(const Options& options) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, options.color), options.verbosity};
}

SessionEvents progress_events(Progress& progress) {
  SessionEvents events;
  events.on_phase = [&](const std::string& what) { progress.phase(what); };
  events.on_note = [&](const std::string& what) { progress.note(what); };
  events.on_start = [&](const std::string& key) { progress.started(key); };
  return events;
}

SessionEvents events_of(Progress& progress, Recorder& recorder) {
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& one) {
    progress.finished(one);
    recorder.take(one);
  };
  return events;
}

// Compiles and measures all; the error is one of the set-up, for which nothing can be measured.
Expected<bool> measure_all(const Options& options, const std::vector<std::string>& command,
                           const std::vector<Variant>& variants, Progress& progress, Recorder& recorder,
                           std::stop_token stop) {
  auto session = Session::open(options, events_of(progress, recorder), stop);
  if (!session) return tl::unexpected(session.error());
  progress.expect(variants.size());
  progress.phase("starting LibTorch under Valgrind");
  session->prepare(variants);
  // Units compile while the zygotes start; the results file needs what a zygote says of itself.
  Expected<void> introduced;
  std::jthread introduction([&] {
    auto fingerprint = session->fingerprint(stop);
    if (!fingerprint) {
      introduced = tl::unexpected(fingerprint.error());
    } else {
      recorder.open(make_results_header(*fingerprint, command));
    }
  });
  auto finished = session->measure(variants, stop);
  introduction.join();
  if (!introduced && !stop.stop_requested()) return tl::unexpected(introduced.error());
  return finished;
}

ExitStatus run(const Options& options, const std::vector<std::string>& command,
               std::stop_token stop) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());

  auto begin = Clock::now();
  Progress progress(progress_options(options));
  Recorder recorder(options.output, [&](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  auto finished = measure_all(options, command, *variants, progress, recorder, stop);
  progress.finish();
  recorder.finish();
  if (!finished && !stop.stop_requested()) return refuse({finished.error()});

  auto measurements = recorder.in_order_of(*variants);
  ReportOptions report_as = report_options(options);
  report_as.header = recorder.header();
  report_as.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!measurements.empty()) fmt::print("{}", report(options.format, measurements, report_as));
  if (stop.stop_requested()) return kInterrupted;
  if (!recorder.could_write()) return kBadSetup;
  return all_measured(measurements) ? kGood : kNotMeasured;
}

ExitStatus list(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  fmt::print("{}", list_text(*variants));
  if (isatty(STDOUT_FILENO)) fmt::print(stderr, "{}", list_summary(*variants));
  return kGood;
}

ExitStatus dry_run(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  auto planned = plan_run(options, *variants);
  if (!planned) return refuse({planned.error()});
  fmt::print("{}", dry_run_text(*planned, inspect_terminal(STDOUT_FILENO, options.color).color));
  return kGood;
}

ExitStatus doctor(const Options& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.color).color;
  bool good = examine(
      options,
      [&](const Finding& finding) {
        fmt::print("{}", finding_line(finding, color));
        std::fflush(stdout);
      },
      stop);
  if (stop.stop_requested()) return kInterrupted;
  return good ? kGood : kBadSetup;
}

ExitStatus watch(const Options& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.color).color;
  Progress progress(progress_options(options));
  WatchLines lines;
  SessionEvents events = progress_events(progress);
  events.on_done = [&](const Measurement& one) {
    progress.finished(one);
    progress.print(STDOUT_FILENO, lines.next(one, color));
  };
  auto session = Session::open(options, events, stop);
  if (!session) return refuse({session.error()});
  progress.phase("starting LibTorch under Valgrind");
  auto ended = instr::watch(
      definition_paths(options), [&] { return plan(options); }, *session,
      [&](const std::string& text) {
        progress.phase("");
        progress.print(STDERR_FILENO, text);
      },
      stop);
  progress.finish();
  if (!ended) return refuse({ended.error()});
  return kGood;  // Ctrl-C is how one leaves it
}

ExitStatus dispatch(const Options& options, const std::vector<std::string>& command) {
  if (options.show) {
    fmt::print("{}", *options.show);
    return kGood;
  }
  if (options.command == Command::kList) return list(options);
  if (options.dry_run) return dry_run(options);
  Interrupt interrupt;
  switch (options.command) {
    case Command::kDoctor: return doctor(options, interrupt.token());
    case Command::kWatch: return watch(options, interrupt.token());
    default: return run(options, command, interrupt.token());
  }
}

}  // namespace
}  // namespace instr

int main(int argc, char** argv) {
  auto options = instr::parse_options(argc, argv);
  if (!options) {
    instr::show(options.error());
    return instr::kBadSetup;
  }
  return instr::dispatch(*options, {argv, argv + argc});
}
