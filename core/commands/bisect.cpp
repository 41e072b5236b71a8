#include <fmt/core.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/commands/commands.h"
#include "core/results/result_set.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

// The meaning of a status to git bisect run.
enum BisectStatus { kGoodCommit = 0, kBadCommit = 1, kUntestable = 125 };

struct BisectArguments {
  std::vector<std::string> build;  // the command
  std::optional<std::string> key;
  PlanConfig plan;
  MeasureConfig measure;
  GateOptions gate;
  ComparisonShowing how;
};

// Runs the build as `git bisect run` would, so that it may prompt on the terminal; its output goes
// to standard error.
Expected<bool> build(const std::vector<std::string>& command, std::stop_token stop) {
  if (command.empty()) return true;
  SpawnOptions spawn;
  spawn.argv = command;
  spawn.descriptors = {{STDIN_FILENO, 0}, {STDERR_FILENO, 1}, {STDERR_FILENO, 2}};
  spawn.own_group = false;
  return run_to_end(spawn, std::move(stop)).map([](int status) { return status == 0; });
}

Expected<Comparison> measure_and_compare(const BisectArguments& options,
                                         const std::vector<std::string>& command,
                                         const Reference& baseline, const Gate& gate,
                                         const std::vector<Variant>& variants, std::stop_token stop,
                                         std::vector<FieldDifference>& differences) {
  Progress progress(progress_options(options.how.showing));
  Recorder recorder(std::nullopt, [](const Error&) {});
  const auto check = [&](const ResultsHeader& header) -> Expected<void> {
    TRY_ASSIGN(differences, check_comparable(baseline, header, options.gate.vary));
    return {};
  };
  auto finished =
      measure_all({options.measure, {}, command}, variants, progress, recorder, stop, check);
  progress.finish();
  TRY(finished);
  return compare_with(baseline,
                      make_result_set("this commit", recorder.header().value_or(ResultsHeader{}),
                                      recorder.in_order_of(variants)),
                      gate);
}

int untestable(const Errors& errors) {
  refuse(errors);
  return kUntestable;
}

ExpectedStatus run_bisect(const BisectArguments& options, const std::vector<std::string>& command,
                          std::stop_token stop) {
  // Before the build, which may take long; a status above 127 ends the bisection.
  TRY_ASSIGN(const auto baseline, find_reference(options.gate, options.plan.selection, {}));
  TRY_ASSIGN(auto gate, open_gate(options.gate));
  gate.compare.accepted.clear();  // the commit is searched, even if its change was accepted
  TRY_ASSIGN(const bool is_built, build(options.build, stop));
  if (stop.stop_requested()) return kInterrupted;
  if (!is_built) return untestable({{{}, "this commit does not build", ""}});
  auto variants = plan(options.plan);
  if (!variants) return untestable(variants.error());
  std::vector<FieldDifference> differences;
  auto comparison =
      measure_and_compare(options, command, *baseline, gate, *variants, stop, differences);
  if (stop.stop_requested()) return kInterrupted;
  if (!comparison) return untestable(comparison.error());
  show_comparison(options.how, *comparison, differences);
  if (comparison->summary.comparable == 0) return kUntestable;
  return comparison->verdict == Verdict::kFails ? kBadCommit : kGoodCommit;
}

}  // namespace

Action bisect_command(CommandLine& line) {
  auto options = std::make_shared<BisectArguments>();
  line.describe(
      "For git bisect run: finds the commit that made a benchmark slower. For each commit COMMAND "
      "builds the code to measure; then the benchmark is counted and compared with the baseline, "
      "which was made at the good commit by instr_bench --filter=KEY --save=NAME.");
  line.rest("COMMAND...", options->build);
  line.group("What to measure");
  line.option("--key", "KEY", "the benchmark to measure", take_text(options->key));
  line.option("--baseline", "NAME|FILE", "to compare it with", take_text(options->gate.baseline));
  declare_definitions(line, options->plan);
  line.group("How to measure");
  declare_measuring(line, options->plan, options->measure);
  line.group("What fails");
  declare_gate(line, options->gate, options->how.show_same);
  line.group("What to show");
  declare_showing(line, options->how.showing);
  line.check([options = options.get()]() -> Expected<void> {
    if (!options->key || !options->gate.baseline) {
      return fail("bisect needs a key and a baseline",
                  "write instr_bench bisect --key=KEY --baseline=NAME -- COMMAND; see instr_bench "
                  "bisect --help");
    }
    options->plan.selection.filters = {"^\\Q" + *options->key + "\\E$"};
    options->measure.wants_functions = true;
    set_needs(options->plan, options->measure, {}, limited_metrics(options->gate));
    if (!options->measure.wants_times) return {};
    return fail("bisect counts instructions and does not time anything",
                "omit the limits of times");
  });
  line.section("Exit status, as expected by git bisect run",
               "  0 good; 1 bad; 125 this commit cannot be built or measured; 130 interrupted\n");
  return [options](const Invocation& invocation) {
    return run_bisect(*options, invocation.words, invocation.stop);
  };
}

}  // namespace instr
