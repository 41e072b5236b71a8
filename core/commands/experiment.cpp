#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "core/base/format.h"
#include "core/base/output.h"
#include "core/base/output_file.h"
#include "core/base/text.h"
#include "core/commands/commands.h"
#include "core/commands/experiment_options.h"
#include "core/compare/expected_values.h"
#include "core/definitions/definition_keys.h"
#include "core/report/backend_summary.h"
#include "core/report/formats.h"
#include "core/report/plot.h"
#include "core/report/run_report.h"
#include "core/results/baselines.h"
#include "core/results/result_set.h"
#include "core/results/results_file.h"
#include "core/run/experiment_run.h"
#include "core/run/gate.h"
#include "core/run/left_out.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

constexpr const char* kPrintCommands = "--print-commands";
constexpr const char* kDumpFolder = "instr_bench_dump";
// The files of --output-dir: our own, and the lines of --format=experiments.
constexpr const char* kFolderResults = "measurements.jsonl";
constexpr const char* kFolderLines = "results.jsonl";

// --device, --backend, ...: values of the axes and, after a "-", those to leave out.
void declare_axes(CommandLine& line, PlanConfig& plan) {
  for (const AxisOption& option : axis_options()) {
    std::string names = fmt::format("--{}", option.axis);
    if (option.alias != nullptr) names += fmt::format(",--{}", option.alias);
    std::replace(names.begin(), names.end(), '_', '-');
    line.option(names, "LIST", option.help,
                each_item([take = option.take, &plan](const Given& given) {
                  return take(given.value, plan);
                }),
                option.choices);
  }
}

void declare_codes(CommandLine& line, CodesOptions& options) {
  line.option("--expect-codes", "FILE",
              "fail if a verification code is neither PASS nor the one in this file (CSV)",
              take_path(options.file));
  line.flag("--update-expected-codes", "write the codes into that file", options.update);
  line.needs(
      {"update-expected-codes"}, [&options] { return options.file.has_value(); },
      "--expect-codes=FILE");
}

struct ExperimentArguments : ExperimentOptions {
  std::vector<std::string> files;
  MeasureConfig measure;
  bool is_dry_run = false;
  bool prints_commands = false;
  std::optional<std::string> only;
  std::optional<fs::path> output;
  std::optional<fs::path> folder;
  ReportFormat format = ReportFormat::kTable;
  CodesOptions codes;
  GateOptions gate;
  bool show_same = false;
  bool fails_on_graph_break = false;
  bool fails_on_flag = false;
  bool shows_each = false;
  SummaryOptions summary;
  Showing showing;

  fs::path results() const {
    if (output) return *output;
    return folder ? *folder / kFolderResults : "results.jsonl";
  }
};

// Completes the options from the file.
tl::expected<ExperimentArguments, Errors> with_file(ExperimentArguments options) {
  if (!options.files.empty()) {
    TRY_ASSIGN(auto source, SourceText::read(options.files.front()));
    TRY(apply_experiment_file(source, options));
  }
  Selection& selection = options.plan.selection;
  if (selection.backends.empty()) selection.backends = kAllBackends;
  selection = with_eager(selection);
  options.plan.axes.devices = selection.devices;
  MeasureConfig& measure = options.measure;
  measure.wants_counts = false;
  measure.wants_times = true;
  measure.verify = true;
  measure.timeout = options.timeout;
  measure.iterations = options.iterations_per_run;
  if (options.repetitions) measure.repetitions = *options.repetitions;
  if (options.folder && measure.dump_folder == kDumpFolder) {
    measure.dump_folder = *options.folder / "dumps";
  }
  return options;
}

// "; 541 s, of which 216 s were timed"; empty if no experiment was left to run.
std::string format_cost(const ExperimentRunResult& ran) {
  if (ran.measurements.size() == ran.were_there.size()) return "";
  double timed = 0;
  for (const Measurement& each : ran.measurements) {
    if (!ran.were_there.contains(each.variant.key)) timed += timed_seconds(each);
  }
  return fmt::format("; {:.0f} s, of which {:.0f} s were timed", ran.seconds, timed);
}

// The references and limits that the results are judged by, known before anything is measured.
struct Criteria {
  std::vector<ExpectedCode> codes;
  Gate gate;
  std::optional<Reference> reference;
  std::vector<FieldDifference> differences = {};  // differences from the reference
  std::vector<Variant> left_out;
};

tl::expected<Criteria, Errors> read_criteria(const ExperimentArguments& options,
                                             const std::vector<Variant>& selected,
                                             std::vector<Variant> left_out) {
  TRY_ASSIGN(auto codes, read_codes_to_expect(options.codes));
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  // An experiment alone lacks all others that the reference has.
  if (options.only) return Criteria{std::move(codes), {}, {}, {}, std::move(left_out)};
  if (options.gate.baseline) {
    TRY_ASSIGN(const auto file, find_baseline(*options.gate.baseline));
    std::error_code ignored;
    if (fs::equivalent(file, options.results(), ignored)) {
      return fail(fmt::format("--baseline: {} is the file that the results go to", file.string()),
                  "name another file with --output");
    }
  }
  TRY_ASSIGN(auto reference, find_reference(options.gate, options.plan.selection, selected));
  return Criteria{std::move(codes), std::move(gate), std::move(reference), {}, std::move(left_out)};
}

// Prints text for people beside what a program reads.
void tell(const ExperimentArguments& options, const std::string& text) {
  if (facts_of(options.format).is_for_people) {
    print_output(text);
  } else {
    print_message(text);
  }
}

// --fail-on-graph-break, --fail-on-flag: returns whether an experiment is beyond these, and says
// which.
bool is_beyond_limits(const ExperimentArguments& options,
                      const std::vector<Measurement>& measurements) {
  bool is_beyond = false;
  const DocumentTable breaks = graph_break_table(measurements);
  if (options.fails_on_graph_break && !breaks.rows.empty()) {
    tell(options, "\n" + render(ReportFormat::kTable, {.tables = {breaks}}));
    print_message("graph breaks fail, as --fail-on-graph-break says\n");
    is_beyond = true;
  }
  const std::size_t flagged = count_flagged(measurements, options.summary.flags);
  if (options.fails_on_flag && flagged != 0) {
    print_message(fmt::format("{} beyond --flag-speedup, --flag-compile or --flag-memory\n",
                              format_plural(flagged, "experiment")));
    is_beyond = true;
  }
  return is_beyond;
}

// Compares with the reference, as a run does.
ExpectedStatus show_changes(const ExperimentArguments& options, const Criteria& criteria,
                            const ExperimentRunResult& ran) {
  if (!criteria.reference) return kGood;
  const ResultSet after = make_result_set("this run", ran.header, ran.measurements);
  TRY_ASSIGN(const auto comparison, compare_with(*criteria.reference, after, criteria.gate));
  if (facts_of(options.format).is_for_people) print_output("\n");
  TRY_ASSIGN(const int status, show_comparison({options.showing, options.format, options.show_same},
                                               comparison, criteria.differences));
  suggest_acceptance(comparison, *options.gate.baseline, options.results().string(), options.gate);
  return status;
}

// Returns the status of a complete run.
ExpectedStatus judge(const ExperimentArguments& options, const Criteria& criteria,
                     const ExperimentRunResult& ran) {
  TRY_ASSIGN(auto verdict,
             judge_codes(options.codes, criteria.codes, ran.measurements,
                         make_run_selector(options.plan.selection, criteria.left_out)));
  tell(options, verdict.text);
  const bool is_beyond = is_beyond_limits(options, ran.measurements);
  TRY_ASSIGN(const int status, show_changes(options, criteria, ran));
  if (status != kGood) return status;
  if (verdict.is_worse || is_beyond) return kRegression;
  const bool is_bad = std::ranges::any_of(ran.measurements, [&](const Measurement& measurement) {
    return has_failed(measurement) && !verdict.expected_failures.contains(measurement.variant.key);
  });
  return is_bad ? kNotMeasured : kGood;
}

ExpectedStatus show(const ExperimentArguments& options, const ExperimentRunResult& ran,
                    const Criteria& criteria, bool is_interrupted) {
  const bool is_for_people = facts_of(options.format).is_for_people;
  // A program reads either the summary or the comparison.
  const bool shows_summary = is_for_people || !criteria.reference;
  if (shows_summary && options.format != ReportFormat::kExperiments) {
    Document document = experiment_document(ran.measurements, options.shows_each, options.summary);
    document.notes.back().text += format_cost(ran);
    print_output(render(options.format, document, render_options(options.showing)));
  }
  if (!ran.could_write) {
    print_message("the same command measures again what is not in the file\n");
    return kBadSetup;
  }
  if (is_interrupted) {
    print_message("interrupted; the same command resumes\n");
    return kInterrupted;
  }
  return judge(options, criteria, ran);
}

// Writes the lines of --format=experiments as experiments end: to standard output, if that is the
// format, and into the folder.
class ExperimentLines {
 public:
  static Expected<ExperimentLines> open(ReportFormat format,
                                        const std::optional<fs::path>& folder) {
    ExperimentLines lines(format == ReportFormat::kExperiments);
    if (!folder) return lines;
    TRY_ASSIGN(const auto file, OutputFile::open(*folder / kFolderLines, kLines));
    lines.path_ = file.path();
    return lines;
  }

  // Writes those of earlier results. An error if the file cannot be written.
  Expected<void> begin(const ResultsHeader& header, const std::vector<Measurement>& earlier) {
    options_.header = header;
    const std::string text = report_experiment_lines(earlier, options_);
    if (prints_) print_output(text);
    if (path_.empty()) return {};
    TRY_ASSIGN(auto file, replace_file(path_, text));
    file_ = AppendFile(std::move(file), path_);
    return {};
  }

  // Returns the text for standard output.
  std::string take(const Measurement& measurement) {
    const std::string text = report_experiment_lines({measurement}, options_);
    if (!path_.empty()) static_cast<void>(file_.append(text));  // finish() tries again
    return prints_ ? text : "";
  }

  // Writes what could not be written before.
  Expected<void> finish() { return path_.empty() ? Expected<void>{} : file_.append(""); }

 private:
  static constexpr FileKind kLines{"results of experiments", [](std::string_view start) {
                                     return start.starts_with("{\"model\":");
                                   }};

  explicit ExperimentLines(bool prints) : prints_(prints) {}

  bool prints_;
  fs::path path_;
  AppendFile file_;
  ReportOptions options_;
};

// Writes summary.txt, summary.md and, if there is gnuplot, KIND.svg for each kind of picture. A
// picture that cannot be drawn is reported.
Expected<void> write_folder(const fs::path& folder, const ExperimentRunResult& ran,
                            const SummaryOptions& summary, std::stop_token stop) {
  const Document document = experiment_document(ran.measurements, /*shows_each=*/false, summary);
  for (const auto& [format, name] :
       {std::pair{ReportFormat::kTable, "summary.txt"}, {ReportFormat::kMarkdown, "summary.md"}}) {
    TRY(replace_file(folder / name, render(format, document)));
  }
  if (!find_gnuplot()) return {};  // reported before the run
  for (const auto& [kind, chart] : make_charts(ran.measurements, kWall)) {
    const std::string name = to_string(kind);
    if (!chart) {
      print_message(fmt::format("no {0}.svg: {1}: see instr_bench plot {2} --kind={0}\n", name,
                                chart.error().what, (folder / kFolderResults).string()));
      continue;
    }
    const auto drawn = draw_svg(*chart, stop);
    if (stop.stop_requested()) return {};
    if (!drawn) {  // the next ones would fail in the same way
      print_message("no pictures: " + to_string(drawn.error()) + "\n");
      return {};
    }
    TRY(replace_file(folder / (name + ".svg"), *drawn));
  }
  return {};
}

// Says so if gnuplot, which draws the pictures of the folder, is missing.
void report_missing_pictures() {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) print_message("there will be no pictures: " + to_string(gnuplot.error()) + "\n");
}

// Prints this command for each experiment, with --only.
void print_commands(std::vector<std::string> words, const std::vector<Variant>& variants) {
  std::erase(words, kPrintCommands);
  std::string command;
  for (const std::string& word : words) command += shell_word(word) + " ";
  std::string lines;
  for (const Variant& variant : variants)
    lines += command + shell_word("--only=" + variant.key) + "\n";
  print_output(lines);
}

ExpectedStatus run_experiment(const ExperimentArguments& given, const Invocation& invocation) {
  const std::stop_token& stop = invocation.stop;
  TRY_ASSIGN(auto options, with_file(given));
  if (options.is_dry_run) {
    return show_dry_run(options.plan, options.measure, options.showing,
                        [&](const std::vector<Variant>& variants) {
                          return find_measured(options.results(), options.measure, variants, stop);
                        });
  }
  TRY_ASSIGN(auto selected, plan(options.plan));
  if (options.prints_commands) {  // the commands may run on machines with other devices
    print_commands(invocation.words, selected);
    return kGood;
  }
  TRY_ASSIGN(auto split, leave_out_unusable(selected, options.plan, options.measure.tools));
  if (!options.only) print_message(split.note);
  const bool writes_folder = options.folder && !options.only;
  if (options.folder) {
    TRY(make_output_folder(*options.folder, "name another folder with --output-dir"));
  }
  TRY_ASSIGN(auto criteria, read_criteria(options, selected, split.left_out));
  if (writes_folder) report_missing_pictures();
  ExperimentRun run{{options.measure, {}, invocation.words, definition_paths(options.plan)},
                    options.results(),
                    options.only,
                    progress_options(options.showing)};
  TRY_ASSIGN(auto lines,
             ExperimentLines::open(options.format, writes_folder ? options.folder : std::nullopt));
  run.on_start = [&](const auto& header, const auto& earlier) -> Expected<void> {
    if (criteria.reference) {
      TRY_ASSIGN(criteria.differences,
                 check_comparable(*criteria.reference, header, options.gate.vary));
    }
    return lines.begin(header, earlier);
  };
  run.rows = [&lines](const Measurement& measurement) { return lines.take(measurement); };
  const auto ran = measure_experiments(run, split, stop);
  if (!ran && stop.stop_requested()) return kInterrupted;
  TRY(ran);
  TRY(lines.finish());
  ExpectedStatus status = show(options, *ran, criteria, stop.stop_requested());
  if (writes_folder) {
    TRY(write_folder(*options.folder, *ran, options.summary, stop));
  }
  return status;
}

void declare_output(CommandLine& line, ExperimentArguments& options) {
  line.group("What to show and keep");
  line.option("-o,--output", "FILE", "the results (results.jsonl), as a run keeps them",
              take_path(options.output));
  line.option(
      "--output-dir,--output-dirname", "DIR",
      "keep all in this folder: measurements.jsonl, unless --output names another file, "
      "results.jsonl (--format=experiments), the summary as text and Markdown, and pictures",
      take_path(options.folder));
  line.flag("--collect-counters", "also keep all counters of torch.compile() in the results",
            options.measure.keeps_counters);
  line.flag("--profile", "also keep the operators that took the most time in the results",
            options.measure.wants_operators);
  line.flag("--coverage",
            "also measure which share of operators, and of their time, is in the graphs of "
            "torch.compile()",
            options.measure.wants_coverage);
  declare_dump(line, options.measure, kDumpFolder);
  std::vector<ReportFormat> formats = document_formats();
  formats.push_back(ReportFormat::kExperiments);
  declare_format(line, options.format, formats);
  line.flag(kPrintCommands,
            "print a command for each experiment, which runs it alone, and exit: to run them "
            "elsewhere, several at a time; this one then takes in what they measured",
            options.prints_commands);
  line.option("--only", "KEY",
              "run only the experiment with this key; its result goes to a file of its own in the "
              "folder results.parts beside results.jsonl, from which a run of all takes it",
              take_text(options.only));
  line.flag("--show-each", "also a line for each experiment, with its speed-up's p-value",
            options.shows_each);
  declare_summary(line, options.summary);
  line.flag("--dry-run", "list the experiments without running them", options.is_dry_run);
  declare_showing(line, options.showing);
}

void declare_failing(CommandLine& line, ExperimentArguments& options) {
  line.group("What fails");
  declare_codes(line, options.codes);
  line.flag("--fail-on-graph-break", "fail if torch.compile() breaks a graph, and list the places",
            options.fails_on_graph_break);
  line.flag("--fail-on-flag",
            "fail if an experiment is beyond --flag-speedup, --flag-compile or --flag-memory",
            options.fails_on_flag);
  line.option("--baseline", "NAME|FILE",
              "compare with this baseline or results file, as a run does",
              take_text(options.gate.baseline));
  declare_gate(line, options.gate, options.show_same);
  line.needs(
      gate_options(), [&options] { return options.gate.baseline.has_value(); }, "--baseline");
  line.check([&options]() -> Expected<void> {
    return options.gate.baseline ? prepare_comparison(options.format, options.gate.compare)
                                 : Expected<void>{};
  });
}

}  // namespace

Action experiment_command(CommandLine& line) {
  auto options = std::make_shared<ExperimentArguments>();
  line.describe(
      "Measures the product of the axes below over the definitions: each experiment is verified "
      "and timed alternately with eager, and is a line of the results file, from which the same "
      "command resumes after an interruption. Ends with a summary by backend. A value of an axis "
      "after a minus is left out: --backend=-tvm,-openxla, --threads=-2. FILE, in TOML, uses the "
      "same names (batch_size, iterations_per_run); options override it.");
  line.operands({"[FILE.toml]", 0, 1}, options->files);
  line.group("What to measure");
  declare_filters(line, options->plan.selection);
  declare_definitions(line, options->plan);
  declare_axes(line, options->plan);
  line.option(
      "--optimizer", "PYTHON",
      "in training, each iteration of a module in Python also takes a step of this, such as "
      "torch.optim.SGD(params, lr=0.01)",
      [options](const Given& given) -> Expected<void> {
        TRY(find_optimizer_name(given.value));
        options->plan.axes.optimizer = given.value;
        return {};
      });
  line.group("How to measure");
  line.option("--repetitions,--repeat", "N", "timed runs (10)",
              take_number(options->repetitions, 2, kMaxRepetitions));
  line.option("--iterations-per-run", "N", "default: as many as fill --min-time",
              take_number(options->iterations_per_run, 1, kMaxIterations));
  line.option("--min-time", "SECONDS", "the minimum length of each run (0.05)",
              take_seconds(options->measure.min_time));
  line.option("--timeout", "SECONDS",
              "stop an experiment that has used this much CPU time, or was idle for as long (60)",
              take_seconds(options->timeout));
  line.flag("--no-warm-compile",
            "do not compile again to see how long that takes with the compiler's cache",
            [options](bool is_left_out) { options->measure.wants_warm_compile = !is_left_out; });
  declare_tools(line, options->measure.tools);
  declare_build(line, options->plan.build);
  declare_output(line, *options);
  declare_failing(line, *options);
  line.section("Exit status",
               "  0 success; 1 something failed or computes a different result; 2 wrong usage or\n"
               "  setup, or results that cannot be compared; 3 a code is worse than expected, or\n"
               "  a change or an experiment is beyond a limit; 130 interrupted, with the results\n"
               "  so far kept\n");
  return [options](const Invocation& invocation) { return run_experiment(*options, invocation); };
}

}  // namespace instr
