// instr_bench: the pipeline, top to bottom. Load definitions, expand to variants, select, compile,
// measure, store, report.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "core/doctor.h"
#include "core/expand.h"
#include "core/installation.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/load.h"
#include "core/options.h"
#include "core/progress.h"
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

// In the order of the variants, whatever the order they were measured in.
void sort_like(const std::vector<Variant>& variants, std::vector<Measurement>& measurements) {
  std::map<std::string, std::size_t> place;
  for (const auto& variant : variants) place.emplace(variant.key, place.size());
  std::sort(measurements.begin(), measurements.end(), [&](const auto& a, const auto& b) {
    return place.at(a.variant.key) < place.at(b.variant.key);
  });
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

// What is done with each measurement as it ends; they come one at a time, from other threads.
class Sink {
 public:
  Sink(const Options& options, Progress& progress) : options_(options), progress_(progress) {}

  SessionEvents events() {
    SessionEvents events;
    events.on_phase = [this](const std::string& what) { progress_.phase(what); };
    events.on_note = [this](const std::string& what) { progress_.note(what); };
    events.on_start = [this](const std::string& key) { progress_.started(key); };
    events.on_done = [this](const Measurement& one) { take(one); };
    return events;
  }

  // Writes what has come so far, and from here on each as it comes.
  void open(const ResultsHeader& header) {
    std::lock_guard lock(turn_);
    header_ = header;
    if (!options_.output) return;
    auto writer = ResultsWriter::create(*options_.output, header);
    if (!writer) return fail_to_write(writer.error());
    writer_ = std::move(*writer);
    for (const auto& one : measurements_) write(one);
  }

  void finish() {
    std::lock_guard lock(turn_);
    if (!writer_) return;
    auto finished = writer_->finish();
    if (!finished) fail_to_write(finished.error());
  }

  std::vector<Measurement>& measurements() { return measurements_; }
  const std::optional<ResultsHeader>& header() const { return header_; }
  bool could_write() const { return could_write_; }

 private:
  void take(const Measurement& one) {
    std::lock_guard lock(turn_);
    progress_.finished(one);
    measurements_.push_back(one);
    if (writer_) write(one);
  }
  void write(const Measurement& one) {
    auto written = writer_->append(one);
    if (!written) fail_to_write(written.error());
  }
  void fail_to_write(const Error& error) {
    if (could_write_) progress_.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
    could_write_ = false;
  }

  const Options& options_;
  Progress& progress_;
  std::mutex turn_;
  std::vector<Measurement> measurements_;
  std::optional<ResultsHeader> header_;
  std::optional<ResultsWriter> writer_;
  bool could_write_ = true;
};

ProgressOptions progress_options(const Options& options) {
  return {STDERR_FILENO, inspect_terminal(STDERR_FILENO, options.color), options.verbosity};
}

// Compiles and measures all; the error is one of the set-up, for which nothing can be measured.
Expected<bool> measure_all(const Options& options, const std::vector<std::string>& command,
                           const std::vector<Variant>& variants, Progress& progress, Sink& sink,
                           std::stop_token stop) {
  auto session = Session::open(options, sink.events(), stop);
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
      sink.open(make_results_header(*fingerprint, command));
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
  Sink sink(options, progress);
  auto finished = measure_all(options, command, *variants, progress, sink, stop);
  progress.finish();
  sink.finish();
  if (!finished && !stop.stop_requested()) return refuse({finished.error()});

  auto& measurements = sink.measurements();
  sort_like(*variants, measurements);
  ReportOptions report_as = report_options(options);
  report_as.header = sink.header();
  report_as.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!measurements.empty()) fmt::print("{}", report(options.format, measurements, report_as));
  if (stop.stop_requested()) return kInterrupted;
  if (!sink.could_write()) return kBadSetup;
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
  std::map<std::string, double> last;
  SessionEvents events;
  events.on_phase = [&](const std::string& what) { progress.phase(what); };
  events.on_note = [&](const std::string& what) { progress.note(what); };
  events.on_start = [&](const std::string& key) { progress.started(key); };
  events.on_done = [&](const Measurement& one) {
    auto before = last.find(one.variant.key);
    auto last_ir = before == last.end() ? std::nullopt : std::optional(before->second);
    progress.finished(one);
    progress.print(STDOUT_FILENO, watch_line(one, last_ir, color));
    if (const auto* counted = std::get_if<Counted>(&one.outcome)) {
      last[one.variant.key] = counted->metrics.at("ir");
    }
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
