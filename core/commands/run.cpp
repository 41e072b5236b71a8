#include "core/commands/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/commands/cli/help.h"
#include "core/compare/expected_values.h"
#include "core/report/explain.h"
#include "core/report/flame.h"
#include "core/report/run_report.h"
#include "core/report/run_table.h"
#include "core/results/baselines.h"
#include "core/results/measurement.h"
#include "core/results/result_set.h"
#include "core/run/gate.h"
#include "core/run/left_out.h"
#include "core/run/measured_files.h"
#include "core/run/pipeline.h"
#include "core/run/recorder.h"
#include "core/run/session.h"

namespace instr {

namespace {

constexpr const char* kExamples = R"(  instr_bench --filter=matmul
  instr_bench --save=main            before a change, and after it:
  instr_bench --baseline=main
  instr_bench --definitions=mine.toml --format=markdown
  instr_bench watch --definitions=mine.toml
)";

constexpr const char* kStatuses =
    R"(  0 success; 1 something could not be measured; 2 wrong usage, definition or
  setup, or results that cannot be compared; 3 a regression beyond its limit, or
  a missing benchmark; 130 interrupted, with the results so far kept; 141
  standard output was closed early, as by `head`
)";

std::string list_of_commands() {
  std::string text;
  for (const Command& command : commands()) {
    std::string names = command.name;
    if (*command.operands != '\0') names += std::string(" ") + command.operands;
    text += help_entry(names, command.summary);
  }
  return text;
}

void declare_how(CommandLine& line, RunOptions& options) {
  MeasureConfig& measure = options.measure;
  line.group("How to measure");
  declare_measuring(line, options.plan, measure);
  line.needs(
      {"warm"}, [&measure] { return measure.wants_counts; }, "a metric that is counted");
  declare_timing(line, measure);
  line.needs(
      {"repetitions", "min-time"}, [&measure] { return measure.wants_times; },
      "a metric that is timed, such as --metrics=wall");
  line.flag("--verify",
            "compare the results of other backends with eager's: PASS, FAIL, ... in the results "
            "and the table",
            measure.verify);
}

void declare_output(CommandLine& line, RunOptions& options) {
  MeasureConfig& measure = options.measure;
  line.group("What to show and keep");
  declare_format(line, options.format);
  declare_show_keys(line, options.showing);
  declare_metrics(line, options.metrics);
  line.option("-o,--output", "FILE", "store the results in FILE (JSON Lines), one by one",
              take_path(options.output));
  line.flag("--resume",
            "go on with the results in that file: measure only what it lacks, or what has changed "
            "since it was measured",
            options.resumes);
  line.needs(
      {"resume"}, [&options] { return options.output.has_value(); }, "--output");
  line.option("--save", "NAME", "make them the baseline NAME", take_text(options.save));
  line.flag("--record", "add them to the history, as those of the commit that is checked out",
            options.record);
  line.option("--history", "FILE", kHistoryHelp, take_path(options.recording.history));
  line.option("--branch", "NAME", "the branch of that commit (default: the one checked out)",
              take_text(options.recording.branch));
  line.flag(
      "--trust-commit",
      "files that are not of that commit count as its own, such as headers that its build makes",
      options.recording.trust_commit);
  line.needs(
      {"history", "branch", "trust-commit"}, [&options] { return options.record; }, "--record");
  line.flag("--call-paths",
            "also keep what each path of calls costs, exactly, for flame graphs: a second or two "
            "for each benchmark",
            measure.call_paths);
  line.needs(
      {"call-paths"}, [&options] { return options.output || options.save || options.record; },
      "--output, --save or --record");
  declare_functions(line, measure);
  line.flag("--lines",
            "also keep what each line of source costs, where there are line numbers; snippets and "
            "the sources of [build] are compiled with them",
            measure.wants_lines);
  line.needs(
      {"lines", "functions"},
      [&options] { return options.output || options.save || options.gate.baseline; },
      "--output, --save or --baseline");
  line.option("--keep-profiles", "DIR", "keep Callgrind's profiles, for kcachegrind",
              take_path(measure.keep_profiles));
  line.needs(
      {"keep-profiles", "call-paths", "lines", "functions"},
      [&measure] { return measure.wants_counts; }, "a metric that is counted");
  declare_showing(line, options.showing);
}

void declare_other_output(CommandLine& line, RunOptions& options) {
  MeasureConfig& measure = options.measure;
  declare_dump(line, measure, "instr_bench_dump");
  line.flag("--dry-run", "list what would be measured without measuring", options.is_dry_run);
  line.flag("--version", "print the version", [](bool) {});
}

void declare_reference(CommandLine& line, RunOptions& options) {
  GateOptions& gate = options.gate;
  line.group("What to compare with (compare and ab also take the limits)");
  line.option(
      "--baseline", "NAME|FILE",
      "compare with this baseline, results file or, as release:VERSION, with a release of torch",
      take_text(gate.baseline));
  line.option("--expect", "FILE", "compare with expected counts (CSV)", take_path(gate.expect));
  line.flag("--update-expected", "write the counts into that file", gate.update_expected);
  line.needs(
      {"update-expected"}, [&gate] { return gate.expect.has_value(); }, "--expect=FILE");
  declare_flames(line, options.flames, "of a baseline measured with --call-paths");
  line.needs(
      {"flame"}, [&gate] { return gate.baseline.has_value(); }, "--baseline");
  declare_gate(line, gate, options.show_same);
  // Kept results may be the base of a later comparison, so limits also say what to measure.
  line.needs(
      gate_options(),
      [&options] {
        return options.gate.has_reference() || options.save || options.output || options.record;
      },
      "--baseline or --expect");
}

Expected<void> finish(RunOptions& options) {
  GateOptions& gate = options.gate;
  if (gate.baseline && gate.expect) {
    return fail("--baseline and --expect cannot go together",
                "run twice: the second run takes everything from the cache");
  }
  options.measure.wants_functions =
      options.output || options.save || options.record || gate.baseline || gate.expect;
  options.measure.call_paths = options.measure.call_paths || options.flames;
  options.measure.keeps_inputs = options.resumes;
  gate.compare.wants_lines = options.measure.wants_lines;
  options.recording.vary = gate.vary;
  TRY(check_functions(options.measure));
  return gate.has_reference() ? prepare_comparison(options.format, gate.compare) : Expected<void>{};
}

// The results of measuring.
struct Run {
  std::vector<Measurement> measurements;  // one for each variant, in their order
  std::optional<ResultsHeader> header;
  std::vector<FieldDifference> differences;  // differences from the reference
  std::set<std::string> shown;               // keys whose rows were shown while measuring
  double seconds = 0;
  bool is_interrupted = false;
  bool could_write = true;
  bool has_dumped = true;  // everything that --dump requests

  bool is_whole() const { return !is_interrupted && could_write; }

  template <class Predicate>
  bool has_any(Predicate is_such) const {
    return std::any_of(measurements.begin(), measurements.end(), is_such);
  }
};

// The file that is written while measuring, checked to be writable before: --output's, or else the
// future baseline.
struct Output {
  fs::path file;
  std::optional<ResultsTarget> target;
  std::optional<BaselineDraft> draft;
};

Expected<Output> open_output(const RunOptions& options) {
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
  if (options.resumes && !target.is_file()) {
    return fail("--resume cannot go on with a pipe or terminal", "name a file with --output");
  }
  output.target = std::move(target);
  return output;
}

// Rows are shown while measuring if they are complete once counted, and nothing is compared.
bool shows_rows(const RunOptions& options) {
  const MeasureConfig& measure = options.measure;
  return options.format == ReportFormat::kTable && !options.resumes && measure.wants_counts &&
         !measure.wants_times && !measure.verify && !options.gate.has_reference();
}

bool keeps_anything(const RunOptions& options) {
  const MeasureConfig& measure = options.measure;
  return options.output || options.save || options.record || measure.keep_profiles ||
         !measure.dump.empty();
}

Expected<Run> measure(const RunOptions& options, const Invocation& invocation,
                      const std::vector<Variant>& variants, std::optional<ResultsTarget> target,
                      const std::optional<Reference>& reference) {
  // Requested if the output is not read to its end (`| head`), and nothing else is made.
  std::stop_source unread;
  const std::stop_callback pass_on(invocation.stop, [&unread] { unread.request_stop(); });
  const std::stop_token stop = unread.get_token();
  const auto begin = std::chrono::steady_clock::now();
  Run run;
  Progress progress(progress_options(options.showing));
  std::optional<RowStream> rows;
  if (shows_rows(options)) {
    rows.emplace(variants, report_options(options.showing, options.metrics));
    progress.show([&rows](const Measurement& measurement) { return rows->take(measurement); },
                  [&] {
                    if (!keeps_anything(options)) unread.request_stop();
                  });
  }
  Recorder recorder(std::move(target), [&](const Error& error) {
    progress.print(STDERR_FILENO, "error: " + to_string(error) + "\n");
  });
  const auto check_header = [&](const ResultsHeader& header) -> Expected<void> {
    if (!reference) return {};
    TRY_ASSIGN(run.differences, check_comparable(*reference, header, options.gate.vary));
    return {};
  };
  const auto ended =
      measure_all({options.measure, options.plan.selection.shard, invocation.words,
                   definition_paths(options.plan), options.resumes ? options.output : std::nullopt},
                  variants, progress, recorder, stop, check_header);
  progress.finish();
  run.measurements = recorder.in_order_of(variants);
  if (rows) run.shown = rows->shown();
  recorder.finish(ended && ended->is_finished && !stop.stop_requested(),
                  list_strangers(run.measurements, ended.value_or(MeasureEnd{}), recorder.header(),
                                 options.record));
  if (!ended && !stop.stop_requested()) return fail(ended.error());
  run.has_dumped = ended && ended->not_dumped == 0;
  run.header = recorder.header();
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.is_interrupted = invocation.stop.stop_requested();
  run.could_write = recorder.could_write();
  return run;
}

bool is_counted(const Measurement& measurement) {
  return std::holds_alternative<Counted>(measurement.outcome);
}
bool is_failed(const Measurement& measurement) {
  return std::holds_alternative<Failure>(measurement.outcome);
}
bool is_wrong(const Measurement& measurement) {
  return measurement.verification && measurement.verification->is_wrong();
}

// --save: makes the results of a whole run the baseline of that name.
Expected<void> save(const RunOptions& options, const Run& run, const Output& output) {
  if (!output.draft) return {};
  if (run.is_whole() && run.has_any(is_counted)) {
    TRY_ASSIGN(const auto file, output.draft->publish(output.file));
    print_message(fmt::format("saved as {}\n", file.string()));
    return {};
  }
  std::string message = fmt::format("the baseline `{}` is unchanged", *options.save);
  if (run.header) {  // something was written
    auto file = output.file;
    if (!options.output) {
      TRY_ASSIGN(file, output.draft->keep());
    }
    message += fmt::format("; the results are in {}", file.string());
  }
  print_message(message + "\n");
  return {};
}

// --record, before the run: finds the commit, and opens the history.
Expected<std::optional<Recording>> open_recording(const RunOptions& options) {
  if (!options.record) return std::nullopt;
  TRY(Repository().check_is_clean());
  return Recording::open(options.recording);
}

Expected<void> record(const Run& run, const std::optional<Recording>& recording) {
  if (!recording) return {};
  if (!run.is_whole() || !run.header) {
    print_message("the run is not whole, so it is not recorded\n");
    return {};
  }
  TRY_ASSIGN(auto recorded,
             recording->make_run(make_result_set("this run", *run.header, run.measurements)));
  TRY_ASSIGN(const auto text, recording->add({std::move(recorded)}));
  print_message(text);
  return {};
}

// --update-expected: writes the counts into the file.
tl::expected<void, Errors> update_expected(const RunOptions& options, const Run& run,
                                           const std::vector<Variant>& left_out) {
  if (!options.gate.update_expected || !run.is_whole()) return {};
  TRY_ASSIGN(const auto updated,
             update_expected_file(*options.gate.expect, run.measurements,
                                  make_run_selector(options.plan.selection, left_out)));
  print_message(fmt::format("{}: {} changed, {} added, {} removed\n", options.gate.expect->string(),
                            updated.changed, updated.added, updated.removed));
  return {};
}

// Shows what each imported module costs.
void show_modules(const RunOptions& options, const Run& run) {
  if (options.format != ReportFormat::kTable) return;
  for (const Measurement& measurement : run.measurements) {
    const auto* counted = std::get_if<Counted>(&measurement.outcome);
    if (counted == nullptr || !counted->followed) continue;
    Explanation modules = explain_followed(measurement.variant.key, *counted, *counted->followed);
    modules.unit = "module";
    modules.where = "";
    const ExplainOptions shown{.order = ExplainOrder::kInclusive,
                               .max_functions = static_cast<std::size_t>(options.max_modules),
                               .render = render_options(options.showing)};
    print_output("\n" + explain_report(options.format, modules, shown));
  }
}

ExitStatus show_counts(const RunOptions& options, const Run& run) {
  ReportOptions report_as = report_options(options.showing, options.metrics);
  report_as.shown = run.shown;
  report_as.header = run.header;
  report_as.seconds = run.seconds;
  report_as.is_complete = !run.is_interrupted;
  if (!run.measurements.empty() || options.format != ReportFormat::kTable) {
    if (!run.shown.empty()) print_output("\n");
    print_output(report(options.format, run.measurements, report_as));
    if (options.shows_modules) show_modules(options, run);
  }
  if (run.is_interrupted) {
    print_message(fmt::format("interrupted after {}\n",
                              format_plural(run.measurements.size(), "measurement")));
    return kInterrupted;
  }
  if (!run.could_write) return kBadSetup;
  return run.has_any(is_failed) ? kNotMeasured : kGood;
}

ExpectedStatus show_changes(const RunOptions& options, const Run& run, const Gate& gate,
                            const Reference& reference) {
  auto after = make_result_set("this run", run.header.value_or(ResultsHeader{}), run.measurements);
  TRY_ASSIGN(auto comparison, compare_with(reference, after, gate));
  if (options.flames) {
    TRY(write_flames(*options.flames, comparison, reference.set, after));
  }
  TRY_ASSIGN(const int status, show_comparison({options.showing, options.format, options.show_same},
                                               comparison, run.differences));
  const auto kept = options.save     ? options.save
                    : options.output ? std::optional(options.output->string())
                                     : std::nullopt;
  if (kept && options.gate.baseline) {
    suggest_acceptance(comparison, *options.gate.baseline, *kept, options.gate);
  }
  return status;
}

}  // namespace

ExpectedStatus measure_and_report(const RunOptions& options, const Invocation& invocation) {
  const Selection& selection = options.plan.selection;
  TRY_ASSIGN(auto selected, plan(options.plan));
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  TRY_ASSIGN(auto reference, find_reference(options.gate, selection, selected));
  TRY_ASSIGN(const auto split,
             leave_out_unusable(std::move(selected), options.plan, options.measure.tools));
  print_message(split.note);
  const std::vector<Variant>& variants = split.runnable;
  if (reference) {
    TRY(prepare_flames(options.flames, {&reference->set}));
  }
  TRY(check_update(options.gate));
  TRY_ASSIGN(auto output, open_output(options));
  TRY_ASSIGN(auto recording, open_recording(options));

  TRY_ASSIGN(auto measured,
             measure(options, invocation, variants, std::move(output.target), reference));
  TRY(save(options, measured, output));
  TRY(record(measured, recording));
  TRY(update_expected(options, measured, split.left_out));

  if (variants.empty()) print_message("this shard has no benchmark\n");
  const bool is_compared = reference && measured.is_whole() &&
                           (!variants.empty() || !reference->set.results.measurements.empty());
  TRY_ASSIGN(const int status, is_compared ? show_changes(options, measured, gate, *reference)
                                           : show_counts(options, measured));
  const bool is_bad = measured.has_any(is_wrong) || !measured.has_dumped;
  return status == kGood && is_bad ? kNotMeasured : status;
}

void declare_run(CommandLine& line, RunOptions& options) {
  line.usage("instr_bench [COMMAND] [options]");
  line.describe(
      "Exact instruction counts of small LibTorch snippets, in seconds. LIST is one or more values "
      "separated by commas; options may be repeated. Results go to standard output, progress and "
      "messages to standard error.");
  line.section("Commands", list_of_commands() + "COMMAND --help says more about each.\n");
  declare_plan(line, options.plan);
  declare_shard(line, options.plan.selection);
  // Before the checks of options that need counts or times.
  line.check([&options]() -> Expected<void> {
    set_needs(options.plan, options.measure, options.metrics, limited_metrics(options.gate));
    return {};
  });
  declare_how(line, options);
  declare_output(line, options);
  declare_other_output(line, options);
  declare_reference(line, options);
  line.check([&options] { return finish(options); });
  line.section("Examples", kExamples);
  line.section("Exit status", kStatuses);
}

void declare_run_of_programs(CommandLine& line, RunOptions& options) {
  declare_filters(line, options.plan.selection);
  line.check([&options]() -> Expected<void> {
    set_needs(options.plan, options.measure, options.metrics, limited_metrics(options.gate));
    if (!options.measure.wants_times) return {};
    return fail("--metrics: programs are counted, not timed", "name metrics that are counted");
  });
  line.group("How to measure");
  declare_jobs(line, options.measure.tools);
  declare_timeout(line, options.measure);
  declare_output(line, options);
  declare_reference(line, options);
  line.check([&options] { return finish(options); });
  line.section("Exit status", kStatuses);
}

void set_program(RunOptions& options, std::string label, Program program) {
  GroupedBenchmark benchmark;
  benchmark.label = std::move(label);
  benchmark.program = std::make_shared<const Program>(std::move(program));
  benchmark.statements = {{.language = Language::kProgram}};
  options.plan.given = {std::move(benchmark)};
}

Action run_command(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  declare_run(line, *options);
  return [options](const Invocation& invocation) {
    return options->is_dry_run ? show_dry_run(options->plan, options->measure, options->showing)
                               : measure_and_report(*options, invocation);
  };
}

}  // namespace instr
