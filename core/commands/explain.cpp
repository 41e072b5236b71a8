#include "core/report/explain.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/cli/gating.h"
#include "core/cli/measuring.h"
#include "core/cli/selecting.h"
#include "core/cli/values.h"
#include "core/commands/commands.h"
#include "core/engine/pipeline.h"
#include "core/results/baselines.h"

namespace instr {

namespace {

constexpr std::size_t kMostNear = 3;  // keys that are offered for one that is not there

struct Options {
  std::vector<std::string> operands;  // KEY [RESULTS]
  PlanConfig plan;
  MeasureConfig measure;
  Incomplete incomplete = Incomplete::kRefused;
  int most_functions = 25;
  Showing showing;

  const std::string& key() const { return operands[0]; }
  bool is_measured() const { return operands.size() == 1; }
};

Error no_such_key(const std::string& key, const std::vector<std::string>& known) {
  std::vector<std::string> near = near_matches(key, known, kMostNear);
  std::string advice = near.empty() ? "`instr_bench list` shows the keys" : "did you mean";
  for (const std::string& one : near) {
    advice += (&one == &near.front() ? " `" : " or `") + printable(one) + "`";
  }
  return {{},
          "there is no benchmark with the key `" + printable(key) + "`",
          advice + (near.empty() ? "" : "?")};
}

// Exactly that key: a person copies it from a table.
tl::expected<std::vector<Variant>, Errors> plan_one(const Options& options) {
  const std::string& key = options.key();
  auto variants = plan(options.plan);
  if (!variants) return variants;
  std::vector<std::string> keys;
  for (const Variant& variant : *variants) keys.push_back(variant.key);
  std::erase_if(*variants, [&key](const Variant& variant) { return variant.key != key; });
  if (variants->empty()) return tl::unexpected(Errors{no_such_key(key, keys)});
  return variants;
}

Expected<Measurement> measured(const Options& options, const std::vector<std::string>& command,
                               const std::vector<Variant>& variants, std::stop_token stop) {
  Progress progress(progress_options(options.showing));
  progress.expect(variants.size());
  Recorder recorder(std::nullopt, [](const Error&) {});
  auto finished = measure_all({options.measure, {}, command}, variants, progress, recorder, stop);
  progress.finish();
  if (!finished) return tl::unexpected(finished.error());
  auto measurements = recorder.in_order_of(variants);
  if (measurements.empty()) return fail("interrupted");
  return measurements.front();
}

Expected<Measurement> stored(const std::string& key, const std::string& name_or_file,
                             Incomplete incomplete) {
  auto file = find_baseline(name_or_file);
  if (!file) return tl::unexpected(file.error());
  auto set = read_result_set(*file, name_or_file, incomplete);
  if (!set) return tl::unexpected(set.error());
  std::vector<std::string> keys;
  for (Measurement& one : set->results.measurements) {
    keys.push_back(one.variant.key);
    if (one.variant.key != key) continue;
    auto functions = set->functions(key);
    if (!functions) return tl::unexpected(functions.error());
    if (auto* counted = std::get_if<Counted>(&one.outcome)) counted->functions = *functions;
    return std::move(one);
  }
  return tl::unexpected(no_such_key(key, keys));
}

ExitStatus show(const Options& options, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) {
    print_output(report(ReportFormat::kTable, {measurement}, report_options(options.showing)));
    return std::holds_alternative<Skipped>(measurement.outcome) ? kGood : kNotMeasured;
  }
  Terminal terminal = inspect_terminal(STDOUT_FILENO, options.showing.color);
  ExplainOptions shown;
  shown.most_functions = static_cast<std::size_t>(options.most_functions);
  shown.width = terminal.width;
  shown.color = terminal.color;
  print_output(explain_text(measurement.variant.key, *counted, shown));
  return kGood;
}

ExitStatus run(const Options& options, const std::vector<std::string>& command,
               std::stop_token stop) {
  if (!options.is_measured()) {
    auto measurement = stored(options.key(), options.operands[1], options.incomplete);
    return measurement ? show(options, *measurement) : refuse(measurement.error());
  }
  auto variants = plan_one(options);
  if (!variants) return refuse(variants.error());
  auto measurement = measured(options, command, *variants, stop);
  if (stop.stop_requested()) return kInterrupted;
  return measurement ? show(options, *measurement) : refuse(measurement.error());
}

}  // namespace

Action explain_command(CommandLine& line) {
  auto options = std::make_shared<Options>();
  line.describe(
      "Says where a single count goes: the functions by their self cost, in instructions per "
      "iteration. Measures it, or takes it from RESULTS, a baseline's name or a results file.");
  line.operands({"KEY [NAME|FILE]", 1, 2}, options->operands);
  line.group("What to measure");
  declare_definitions(line, options->plan);
  line.group("How to measure");
  declare_tools(line, options->measure.tools);
  declare_build(line, options->plan.build);
  declare_timeout(line, options->measure);
  declare_counting(line, options->measure);
  line.option("--keep-profiles", "DIR", "keep Callgrind's profile, for kcachegrind",
              take_path(options->measure.keep_profiles));
  std::vector<std::string> of_measuring;
  for (const OptionInfo& option : line.options()) of_measuring.push_back(option.name);
  line.needs(
      of_measuring, [options = options.get()] { return options->is_measured(); },
      "a measurement; results were named");
  line.group("What to show");
  line.option("--top", "N", "functions to show (25)", take_number(options->most_functions, 1));
  declare_incomplete(line, options->incomplete, "the results may be of a run that did not finish");
  line.needs(
      {"allow-incomplete"}, [options = options.get()] { return !options->is_measured(); },
      "the name of a baseline or file");
  declare_showing(line, options->showing);
  options->measure.wants_functions = true;
  return [options](const Invocation& invocation) {
    return run(*options, invocation.words, invocation.stop);
  };
}

}  // namespace instr
