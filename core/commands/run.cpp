#include "core/commands/run.h"

#include <memory>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/commands/cli/gating.h"
#include "core/commands/cli/help.h"
#include "core/commands/cli/measuring.h"
#include "core/commands/cli/selecting.h"
#include "core/commands/cli/values.h"
#include "core/commands/commands.h"
#include "core/report/comparison_flames.h"
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
  a benchmark gone; 130 interrupted, with the results so far kept; 141 nobody
  reads the output any more (| head)
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
  line.option("--save", "NAME", "make them the baseline NAME", take_text(options.save));
  line.flag("--record", "add them to the history, as those of the commit that is checked out",
            options.record);
  line.option("--history", "FILE", kHistoryHelp, take_path(options.recording.history));
  line.option("--branch", "NAME", "the branch of that commit (default: the one checked out)",
              take_text(options.recording.branch));
  line.needs(
      {"history", "branch"}, [&options] { return options.record; }, "--record");
  line.flag("--call-paths",
            "also keep what each path of calls costs, exactly, for flame graphs: a second or two "
            "for each benchmark",
            measure.call_paths);
  line.needs(
      {"call-paths"}, [&options] { return options.output || options.save || options.record; },
      "--output, --save or --record");
  line.flag("--lines",
            "also keep what each line of source costs, where there are line numbers; snippets and "
            "the sources of [build] are compiled with them",
            measure.wants_lines);
  line.needs(
      {"lines"}, [&options] { return options.output || options.save || options.gate.baseline; },
      "--output, --save or --baseline");
  line.option("--keep-profiles", "DIR", "keep Callgrind's profiles, for kcachegrind",
              take_path(measure.keep_profiles));
  line.needs(
      {"keep-profiles", "call-paths", "lines"}, [&measure] { return measure.wants_counts; },
      "a metric that is counted");
  declare_dump(line, measure, "instr_bench_dump");
  line.flag("--dry-run", "list what would be measured without measuring", options.is_dry_run);
  declare_showing(line, options.showing);
  line.flag("--version", "print the version", [](bool) {});
}

void declare_reference(CommandLine& line, RunOptions& options) {
  GateOptions& gate = options.gate;
  line.group("What to compare with (compare and ab also take the limits)");
  line.option("--baseline", "NAME|FILE", "compare with this baseline or results file",
              take_text(gate.baseline));
  line.option("--expect", "FILE", "compare with expected counts (CSV)", take_path(gate.expect));
  line.flag("--update-expected", "write the counts into that file", gate.update_expected);
  line.needs(
      {"update-expected"}, [&gate] { return gate.expect.has_value(); }, "--expect=FILE");
  declare_flames(line, options.flames, "of a baseline measured with --call-paths");
  line.needs(
      {"flame"}, [&gate] { return gate.baseline.has_value(); }, "--baseline");
  declare_gate(line, gate, options.show_same);
  // Results that are kept may be the base of a later comparison, so the metrics that the limits
  // need are measured.
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
  gate.compare.wants_lines = options.measure.wants_lines;
  options.recording.vary = gate.vary;
  TRY(check_call_paths(options.measure));
  return gate.has_reference() ? prepare_comparison(options.format, gate.compare) : Expected<void>{};
}

}  // namespace

void declare_run(CommandLine& line, RunOptions& options) {
  line.usage("instr_bench [COMMAND] [options]");
  line.describe(
      "Exact instruction counts of small LibTorch snippets, in seconds. LIST is one or more values "
      "separated by commas; options may be repeated. Results go to standard output, progress and "
      "messages to standard error.");
  line.section("Commands", list_of_commands() + "COMMAND --help says more about each.\n");
  declare_plan(line, options.plan);
  declare_shard(line, options.plan.selection);
  // Before the checks of options without effect.
  line.check([&options]() -> Expected<void> {
    set_needs(options.measure, options.metrics, limited_metrics(options.gate));
    return {};
  });
  declare_how(line, options);
  declare_output(line, options);
  declare_reference(line, options);
  line.check([&options] { return finish(options); });
  line.section("Examples", kExamples);
  line.section("Exit status", kStatuses);
}

Action run_command(CommandLine& line) {
  auto options = std::make_shared<RunOptions>();
  declare_run(line, *options);
  return [options](const Invocation& invocation) -> ExpectedStatus {
    if (options->is_dry_run) {
      return show_dry_run(options->plan, options->measure, options->showing);
    }
    return invocation.pipeline(*options, invocation);
  };
}

}  // namespace instr
