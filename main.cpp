// instr_bench: the pipeline, top to bottom. Load definitions, expand to variants, select, compile,
// measure, store, compare, report.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/base/format.h"
#include "core/base/interrupt.h"
#include "core/commands/commands.h"
#include "core/compare/expected_counts.h"
#include "core/definitions/select.h"
#include "core/report/report.h"
#include "core/results/baselines.h"
#include "core/results/recorder.h"
#include "core/run/gate.h"
#include "core/run/options.h"
#include "core/run/pipeline.h"
#include "core/values/verification.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

// What measuring left.
struct Run {
  std::vector<Measurement> measurements;  // in the order of the variants
  std::optional<ResultsHeader> header;
  std::vector<FieldDifference> differences;  // from what it is held against
  double seconds = 0;
  bool is_interrupted = false;
  bool could_write = true;

  bool is_whole() const { return !is_interrupted && could_write; }
};

// The file that is written while measuring: the one asked for, or what becomes the baseline.
Expected<std::optional<std::filesystem::path>> output_of(const Options& options) {
  if (options.output && !std::filesystem::exists(options.output->parent_path() / ".")) {
    return fail(fmt::format("{}: there is no such folder", options.output->parent_path().string()),
                "make it first, or name a file in another one");
  }
  if (options.output || !options.save) return options.output;
  return start_baseline(*options.save).map([](const auto& path) { return std::optional(path); });
}

Expected<Run> measure(const Options& options, const std::vector<std::string>& command,
                      const std::vector<Variant>& variants,
                      const std::optional<std::filesystem::path>& output,
                      const std::optional<Reference>& reference, std::stop_token stop) {
  auto begin = Clock::now();
  Run run;
  Progress progress(progress_options(options));
  std::size_t passes = (options.wants_counts ? 1 : 0) + (options.wants_times ? 1 : 0);
  std::size_t verified = options.verify ? static_cast<std::size_t>(std::count_if(
                                              variants.begin(), variants.end(), is_candidate))
                                        : 0;
  progress.expect(variants.size() * passes + verified);
  Recorder recorder(output, [&](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  auto is_comparable = [&](const ResultsHeader& header) -> Expected<void> {
    if (!reference) return {};
    return check_comparable(*reference, header, options.gate.vary).map([&](auto&& found) {
      run.differences = std::move(found);
    });
  };
  auto finished = measure_all(options, command, variants, progress, recorder, stop, is_comparable);
  progress.finish();
  recorder.finish();
  if (!finished && !stop.stop_requested()) return tl::unexpected(finished.error());
  run.measurements = recorder.in_order_of(variants);
  run.header = recorder.header();
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  run.is_interrupted = stop.stop_requested();
  run.could_write = recorder.could_write();
  return run;
}

bool has_count(const Measurement& one) { return std::holds_alternative<Counted>(one.outcome); }
bool has_failure(const Measurement& one) { return std::holds_alternative<Failure>(one.outcome); }
bool is_wrong(const Measurement& one) { return one.verification && one.verification->is_wrong(); }

// --save: makes what was measured the baseline of that name.
Expected<void> save(const Options& options, const Run& run, const std::filesystem::path& output) {
  if (!options.save) return {};
  bool is_worth_it = std::any_of(run.measurements.begin(), run.measurements.end(), has_count);
  if (!run.is_whole() || !is_worth_it) {
    fmt::print(stderr, "the baseline `{}` stays as it was; what was measured is in {}\n",
               *options.save, output.string());
    return {};
  }
  return finish_baseline(*options.save, output).map([](const std::filesystem::path& file) {
    fmt::print(stderr, "saved as {}\n", file.string());
  });
}

// --update-expected: writes what was counted into the file, and says what that changed.
tl::expected<void, Errors> update_expected(const Options& options, const Run& run) {
  if (!options.gate.update_expected || !run.is_whole()) return {};
  auto wanted = selector(options.selection);
  if (!wanted) return tl::unexpected(Errors{wanted.error()});
  auto updated = update_expected_file(
      *options.gate.expect, run.measurements,
      [&wanted](const std::string& key) { return (*wanted)(variant_of_key(key)); });
  if (!updated) return tl::unexpected(updated.error());
  fmt::print(stderr, "{}: {} changed, {} added, {} removed\n", options.gate.expect->string(),
             updated->changed, updated->added, updated->removed);
  return {};
}

ExitStatus show_counts(const Options& options, const Run& run) {
  ReportOptions report_as = report_options(options);
  report_as.header = run.header;
  report_as.seconds = run.seconds;
  bool is_worth_it = !run.measurements.empty() || options.format != ReportFormat::kTable;
  if (is_worth_it) fmt::print("{}", report(options.format, run.measurements, report_as));
  if (run.is_interrupted) {
    fmt::print(stderr, "interrupted after {}\n",
               format_plural(run.measurements.size(), "measurement"));
    return kInterrupted;
  }
  if (!run.could_write) return kBadSetup;
  bool has_failed = std::any_of(run.measurements.begin(), run.measurements.end(), has_failure);
  return has_failed ? kNotMeasured : kGood;
}

ExitStatus show_changes(const Options& options, const Run& run, const Gate& gate,
                        const Reference& reference) {
  auto after = result_set_of("this run", run.header.value_or(ResultsHeader{}), run.measurements);
  auto comparison = hold_against(reference, std::move(after), gate);
  if (!comparison) return refuse(comparison.error());
  return show_comparison(options, *comparison, run.differences);
}

ExitStatus run(const Options& options, const std::vector<std::string>& command,
               std::stop_token stop) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  auto gate = open_gate(options.gate);
  if (!gate) return refuse(gate.error());
  auto reference = find_reference(options.gate, options.selection, *variants);
  if (!reference) return refuse(reference.error());
  auto output = output_of(options);
  if (!output) return refuse(output.error());

  auto measured = measure(options, command, *variants, *output, *reference, stop);
  if (!measured) return refuse(measured.error());
  auto saved = save(options, *measured, output->value_or(""));
  if (!saved) return refuse(saved.error());
  auto updated = update_expected(options, *measured);
  if (!updated) return refuse(updated.error());

  if (variants->empty()) fmt::print(stderr, "this shard has no benchmark\n");
  bool is_compared = *reference && measured->is_whole() &&
                     (!variants->empty() || !(*reference)->set.results.measurements.empty());
  ExitStatus status = is_compared ? show_changes(options, *measured, *gate, **reference)
                                  : show_counts(options, *measured);
  bool has_wrong =
      std::any_of(measured->measurements.begin(), measured->measurements.end(), is_wrong);
  return status == kGood && has_wrong ? kNotMeasured : status;
}

int dispatch(const Options& options, const std::vector<std::string>& command) {
  if (options.show) {
    fmt::print("{}", *options.show);
    return kGood;
  }
  if (options.command == Command::kList) return list_command(options);
  if (options.dry_run && options.command == Command::kRun) return dry_run_command(options);
  Interrupt interrupt;
  switch (options.command) {
    case Command::kDoctor: return doctor_command(options, interrupt.token());
    case Command::kWatch: return watch_command(options, interrupt.token());
    case Command::kCompare: return compare_command(options);
    case Command::kBaseline: return baseline_command(options);
    case Command::kExplain: return explain_command(options, command, interrupt.token());
    case Command::kAb: return ab_command(options, command, interrupt.token());
    case Command::kMerge: return merge_command(options);
    case Command::kBisect: return bisect_command(options, command, interrupt.token());
    case Command::kSelftest: return selftest_command(options, interrupt.token());
    case Command::kExperiment: return experiment_command(options, interrupt.token());
    case Command::kPlot: return plot_command(options, interrupt.token());
    default: return run(options, command, interrupt.token());
  }
}

}  // namespace
}  // namespace instr

int main(int argc, char** argv) {
  auto options = instr::parse_options(argc, argv);
  if (!options) return instr::refuse(options.error());
  return instr::dispatch(*options, {argv, argv + argc});
}
