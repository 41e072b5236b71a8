// instr_bench: the pipeline, top to bottom. Load definitions, expand to variants, select, compile,
// measure, store, compare, report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/commands/cli/program.h"
#include "core/commands/run.h"
#include "core/compare/expected_counts.h"
#include "core/definitions/select.h"
#include "core/report/comparison_flames.h"
#include "core/report/report.h"
#include "core/results/baselines.h"
#include "core/results/result_set.h"
#include "core/results/verification.h"
#include "core/run/gate.h"
#include "core/run/pipeline.h"
#include "core/run/recorder.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

// The results of measuring.
struct Run {
  std::vector<Measurement> measurements;  // in the order of the variants
  std::optional<ResultsHeader> header;
  std::vector<FieldDifference> differences;  // from the reference
  double seconds = 0;
  bool is_interrupted = false;
  bool could_write = true;
  bool has_dumped = true;  // all that --dump requests

  bool is_whole() const { return !is_interrupted && could_write; }
};

// The file written while measuring, checked to be writable before: the requested one, or the future
// baseline.
struct Output {
  std::filesystem::path file;
  std::optional<ResultsTarget> target;
  std::optional<BaselineDraft> draft;
};

Expected<Output> output_of(const RunOptions& options) {
  Output output;
  if (options.save) {
    TRY_ASSIGN(output.draft, BaselineDraft::start(*options.save));
  }
  if (!options.output && !output.draft) return output;
  output.file = options.output ? *options.output : output.draft->file();
  TRY_ASSIGN(auto target, ResultsTarget::open(output.file));
  if (output.draft && !target.is_file()) {
    return fail("--save cannot keep what --output writes to a pipe or terminal",
                "omit one of them, or name a file");
  }
  output.target = std::move(target);
  return output;
}

Expected<Run> measure(const RunOptions& options, const Invocation& invocation,
                      const std::vector<Variant>& variants, std::optional<ResultsTarget> target,
                      const std::optional<Reference>& reference) {
  const std::stop_token& stop = invocation.stop;
  auto begin = Clock::now();
  Run run;
  Progress progress(progress_options(options.showing));
  Recorder recorder(std::move(target), [&](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  auto is_comparable = [&](const ResultsHeader& header) -> Expected<void> {
    if (!reference) return {};
    return check_comparable(*reference, header, options.gate.vary)
        .map([&](std::vector<FieldDifference>&& found) { run.differences = std::move(found); });
  };
  auto ended = measure_all({options.measure, options.plan.selection.shard, invocation.words,
                            definition_paths(options.plan)},
                           variants, progress, recorder, stop, is_comparable);
  progress.finish();
  recorder.finish(ended && ended->is_finished && !stop.stop_requested());
  if (!ended && !stop.stop_requested()) return tl::unexpected(ended.error());
  run.has_dumped = ended && ended->not_dumped == 0;
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

// --save: makes the results the baseline of that name.
Expected<void> save(const RunOptions& options, const Run& run, const Output& output) {
  if (!output.draft) return {};
  bool is_worth_it = std::any_of(run.measurements.begin(), run.measurements.end(), has_count);
  if (run.is_whole() && is_worth_it) {
    return output.draft->publish(output.file).map([](const std::filesystem::path& file) {
      print_message(fmt::format("saved as {}\n", file.string()));
    });
  }
  std::string stays = fmt::format("the baseline `{}` is unchanged", *options.save);
  if (!run.header) {  // nothing was written
    print_message(stays + "\n");
    return {};
  }
  auto kept = options.output ? Expected<std::filesystem::path>(output.file) : output.draft->keep();
  return kept.map([&stays](const std::filesystem::path& file) {
    print_message(fmt::format("{}; the results are in {}\n", stays, file.string()));
  });
}

// --record: finds out first whether it can, and for which commit.
Expected<std::optional<Recording>> recording_of(const RunOptions& options) {
  if (!options.record) return std::nullopt;
  TRY(Repository().check_is_clean());
  return Recording::open(options.recording).map([](Recording&& recording) {
    return std::optional(std::move(recording));
  });
}

Expected<void> record(const Run& run, const std::optional<Recording>& recording) {
  if (!recording) return {};
  if (!run.is_whole() || !run.header) {
    print_message("the run is not whole, so it is not recorded\n");
    return {};
  }
  return recording->run_of(result_set_of("this run", *run.header, run.measurements))
      .and_then([&](HistoryRun&& one) { return recording->add({std::move(one)}); })
      .map([](const std::string& text) { print_message(text); });
}

// --update-expected: writes the counts into the file, and reports the changes.
tl::expected<void, Errors> update_expected(const RunOptions& options, const Run& run) {
  if (!options.gate.update_expected || !run.is_whole()) return {};
  auto updated =
      update_expected_file(*options.gate.expect, run.measurements,
                           [selected = make_selector(options.plan.selection)](
                               const std::string& key) { return selected(parse_key(key)); });
  if (!updated) return tl::unexpected(updated.error());
  print_message(fmt::format("{}: {} changed, {} added, {} removed\n", options.gate.expect->string(),
                            updated->changed, updated->added, updated->removed));
  return {};
}

ExitStatus show_counts(const RunOptions& options, const Run& run) {
  ReportOptions report_as = report_options(options.showing, options.metrics);
  report_as.header = run.header;
  report_as.seconds = run.seconds;
  report_as.is_complete = !run.is_interrupted;
  bool is_worth_it = !run.measurements.empty() || options.format != ReportFormat::kTable;
  if (is_worth_it) print_output(report(options.format, run.measurements, report_as));
  if (run.is_interrupted) {
    print_message(fmt::format("interrupted after {}\n",
                              format_plural(run.measurements.size(), "measurement")));
    return kInterrupted;
  }
  if (!run.could_write) return kBadSetup;
  bool has_failed = std::any_of(run.measurements.begin(), run.measurements.end(), has_failure);
  return has_failed ? kNotMeasured : kGood;
}

ExpectedStatus show_changes(const RunOptions& options, const Run& run, const Gate& gate,
                            const Reference& reference) {
  auto after = result_set_of("this run", run.header.value_or(ResultsHeader{}), run.measurements);
  TRY_ASSIGN(auto comparison, compare_with(reference, after, gate));
  if (options.flames) {
    TRY(write_flames(*options.flames, comparison, reference.set, after));
  }
  return show_comparison({options.showing, options.format, options.show_same}, comparison,
                         run.differences);
}

ExpectedStatus run(const RunOptions& options, const Invocation& invocation) {
  TRY_ASSIGN(auto variants, plan(options.plan));
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  TRY_ASSIGN(auto reference, find_reference(options.gate, options.plan.selection, variants));
  if (reference) {
    TRY(prepare_flames(options.flames, {&reference->set}));
  }
  TRY(check_update(options.gate));
  TRY_ASSIGN(auto output, output_of(options));
  TRY_ASSIGN(auto recording, recording_of(options));

  TRY_ASSIGN(auto measured,
             measure(options, invocation, variants, std::move(output.target), reference));
  TRY(save(options, measured, output));
  TRY(record(measured, recording));
  TRY(update_expected(options, measured));

  if (variants.empty()) print_message("this shard has no benchmark\n");
  bool is_compared = reference && measured.is_whole() &&
                     (!variants.empty() || !reference->set.results.measurements.empty());
  TRY_ASSIGN(const int status, is_compared ? show_changes(options, measured, gate, *reference)
                                           : show_counts(options, measured));
  bool has_wrong =
      std::any_of(measured.measurements.begin(), measured.measurements.end(), is_wrong);
  return status == kGood && (has_wrong || !measured.has_dumped) ? kNotMeasured : status;
}

}  // namespace
}  // namespace instr

int main(int argc, char** argv) { return instr::run_program(argc, argv, instr::run); }
