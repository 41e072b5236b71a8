#include "core/report/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/base/private_folder.h"
#include "core/commands/commands.h"
#include "core/definitions/select.h"
#include "core/report/flame.h"
#include "core/results/baselines.h"
#include "core/results/result_set.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

struct ExplainArguments {
  std::vector<std::string> operands;  // KEY [RESULTS]
  PlanConfig plan;
  MeasureConfig measure;
  Incomplete incomplete = Incomplete::kRefused;
  ReportFormat format = ReportFormat::kTable;
  ExplainOrder order = ExplainOrder::kSelf;
  std::optional<std::string> callers;  // the pattern of the functions whose callers are shown
  int max_functions = 25;
  std::optional<fs::path> flame;  // a folder for graphs
  Showing showing;

  bool is_measured() const { return operands.size() == 1; }
};

// Plans the variant that the operand names.
tl::expected<std::vector<Variant>, Errors> plan_one(const ExplainArguments& options) {
  TRY_ASSIGN(auto variants, plan(options.plan));
  std::vector<std::string> keys;
  for (const Variant& variant : variants) keys.push_back(variant.key);
  TRY_ASSIGN(const auto key, resolve_key(options.operands[0], keys));
  std::erase_if(variants, [&key](const Variant& variant) { return variant.key != key; });
  return variants;
}

Expected<Measurement> measure_one(const ExplainArguments& options,
                                  const std::vector<std::string>& command,
                                  const std::vector<Variant>& variants, std::stop_token stop) {
  Progress progress(progress_options(options.showing));
  Recorder recorder(std::nullopt, [](const Error&) {});
  auto finished = measure_all({options.measure, {}, command}, variants, progress, recorder, stop);
  progress.finish();
  TRY(finished);
  auto measurements = recorder.in_order_of(variants);
  if (measurements.empty()) return fail("interrupted");
  return measurements.front();
}

Expected<Measurement> read_stored(const std::string& word, const std::string& name_or_file,
                                  Incomplete incomplete) {
  TRY_ASSIGN(auto file, find_baseline(name_or_file));
  TRY_ASSIGN(auto set, read_result_set(file, name_or_file, incomplete));
  std::vector<Measurement>& all = set.results.measurements;
  std::vector<std::string> keys;
  for (const Measurement& measurement : all) keys.push_back(measurement.variant.key);
  TRY_ASSIGN(const auto key, resolve_key(word, keys));
  const auto position = std::find_if(
      all.begin(), all.end(),
      [&key](const Measurement& measurement) { return measurement.variant.key == key; });
  TRY_ASSIGN(auto whole, add_profile(set, std::move(*position)));
  // The profile's file may be that of a later measurement by now.
  if (auto* counted = std::get_if<Counted>(&whole.outcome)) counted->profile.reset();
  return whole;
}

Expected<Explanation> explain_in_python(const std::string& key, const Counted& counted) {
  if (!counted.followed) return fail("this interpreter does not show its calls");
  if (counted.followed->empty()) {
    return fail("the statement makes too many calls in Python to follow each");
  }
  return explain_followed(key, counted, *counted.followed);
}

Expected<Explanation> explain_count(const ExplainArguments& options, const std::string& key,
                                    const Counted& counted) {
  const bool is_in_python = options.measure.follows_calls;
  if (!is_in_python && (!options.is_measured() || !counted.profile)) return explain(key, counted);
  auto explanation = is_in_python
                         ? explain_in_python(key, counted)
                         : explain_profile(key, counted,
                                           options.measure.call_paths ? ProfilePaths::kSeparate
                                                                      : ProfilePaths::kMerged);
  if (!explanation || !options.callers) return explanation;
  const Explanation& all = *explanation;
  Explanation chosen = select_callers(all, make_matcher(*options.callers));
  if (!chosen.functions.empty()) return chosen;
  std::vector<std::string> names;
  for (const ExplainedFunction& function : all.functions) names.push_back(function.code.function);
  return fail(
      fmt::format("--callers: no function has `{}` in its name", printable(*options.callers)),
      printable(did_you_mean(*options.callers, names)));
}

Expected<void> write_flame_of(const ExplainArguments& options, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (!options.flame || counted == nullptr) return {};
  if (!counted->call_tree) {
    return fail("these results have no call paths", "measure them with --call-paths");
  }
  return write_flame(*options.flame, measurement.variant.key, *counted->call_tree);
}

Expected<std::string> format_report(const ExplainArguments& options, const std::string& key,
                                    const Counted& counted) {
  const ExplainOptions shown{.order = options.order,
                             .max_functions = static_cast<std::size_t>(options.max_functions),
                             .render = render_options(options.showing)};
  if (!options.measure.wants_lines) {
    TRY_ASSIGN(const auto explanation, explain_count(options, key, counted));
    return explain_report(options.format, explanation, shown);
  }
  if (!counted.lines) {
    return fail("these results have no costs of lines", "measure them with --lines");
  }
  const auto ir = counted.metrics.find(kInstructions);
  return lines_report(options.format, key, ir == counted.metrics.end() ? 0 : ir->second,
                      *counted.lines, shown);
}

ExpectedStatus show(const ExplainArguments& options, const Measurement& measurement) {
  const auto* counted = std::get_if<Counted>(&measurement.outcome);
  if (counted == nullptr) {
    print_output(report(ReportFormat::kTable, {measurement}, report_options(options.showing)));
    return std::holds_alternative<Skipped>(measurement.outcome) ? kGood : kNotMeasured;
  }
  TRY_ASSIGN(auto text, format_report(options, measurement.variant.key, *counted));
  print_output(text);
  return kGood;
}

ExpectedStatus measure_and_show(ExplainArguments options, const std::vector<std::string>& command,
                                std::stop_token stop) {
  TRY_ASSIGN(auto variants, plan_one(options));
  const Variant& variant = variants.front();
  if (options.measure.follows_calls && variant.language != Language::kPython &&
      !is_import(variant)) {
    return fail("--functions=python: " + printable(variant.key) + " is not in Python");
  }
  TRY(prepare_flame_folder(options.flame));
  options.measure.wants_functions = !options.measure.follows_calls;
  std::optional<PrivateFolder> folder;
  if (options.measure.wants_functions && !options.measure.keep_profiles) {
    TRY_ASSIGN(auto made, PrivateFolder::make());
    options.measure.keep_profiles = folder.emplace(std::move(made)).path();
  }
  auto measurement = measure_one(options, command, variants, stop);
  if (stop.stop_requested()) return kInterrupted;
  TRY(measurement);
  TRY(write_flame_of(options, *measurement));
  return show(options, *measurement);
}

ExpectedStatus run_explain(const ExplainArguments& options, const std::vector<std::string>& command,
                           std::stop_token stop) {
  if (options.is_measured()) return measure_and_show(options, command, stop);
  TRY(prepare_flame_folder(options.flame));
  TRY_ASSIGN(auto measurement,
             read_stored(options.operands[0], options.operands[1], options.incomplete));
  TRY(write_flame_of(options, measurement));
  return show(options, measurement);
}

Expected<void> check(ExplainArguments& options) {
  const auto& [name, value] = kColdCompile;
  options.plan.axes.only_compiling =
      options.operands[0].find(fmt::format("{}={}", name, value)) != std::string::npos;
  options.measure.call_paths = options.flame.has_value() && options.is_measured();
  TRY(check_functions(options.measure));
  if (options.measure.wants_lines && options.callers) {
    return fail("--callers needs functions, and --lines shows lines", "omit one of them");
  }
  return {};
}

void declare_measured(CommandLine& line, ExplainArguments& options) {
  line.group("What to measure");
  declare_definitions(line, options.plan);
  line.group("How to measure");
  declare_measuring(line, options.plan, options.measure);
  line.option("--keep-profiles", "DIR", "keep Callgrind's profile, for kcachegrind",
              take_path(options.measure.keep_profiles));
}

// Options for output that only a new measurement has.
void declare_shown_of_measured(CommandLine& line, ExplainArguments& options) {
  declare_functions(line, options.measure);
  line.option("--callers", "PATTERN",
              "only functions with that in their name, with all their callers",
              take_text(options.callers));
}

void declare_shown(CommandLine& line, ExplainArguments& options) {
  const Choices<ExplainOrder> orders{{"self", ExplainOrder::kSelf},
                                     {"inclusive", ExplainOrder::kInclusive}};
  line.option("--sort", "ORDER",
              "self (default) or inclusive: the cost by which functions, or lines, are sorted",
              take_choice(options.order, orders), names_of(orders));
  line.needs(
      {"sort"}, [&options] { return options.is_measured() || options.measure.wants_lines; },
      "a measurement, or --lines; results were named");
  line.option("--flame", "DIR",
              "also write a flame graph to DIR, in which each path of calls has its exact cost: "
              "KEY.html for a browser and KEY.folded for flamegraph.pl and the like; of results "
              "measured with --call-paths",
              take_path(options.flame));
  line.flag("--lines",
            "by line of source instead, where there are line numbers: of the snippet, the sources "
            "of [build], and whatever was compiled with -g; of results measured with --lines",
            options.measure.wants_lines);
  line.option("--top", "N", "functions, or lines, that tables show (25)",
              take_number(options.max_functions, 1));
  declare_format(line, options.format, document_formats());
}

}  // namespace

Expected<Explanation> explain_profile(const std::string& key, const Counted& counted,
                                      ProfilePaths paths) {
  TRY_ASSIGN(auto profile, read_profile(*counted.profile, paths));
  const auto costs = inclusive_costs(profile, counted.iterations);
  return explain(key, counted, &costs);
}

Action explain_command(CommandLine& line) {
  auto options = std::make_shared<ExplainArguments>();
  line.describe(
      "Shows what a count consists of, in instructions per iteration: the cost of each function by "
      "itself (self) and with its callees (inclusive), and its callers. Measures the benchmark, or "
      "reads a baseline's NAME or a results FILE, which has self costs alone.");
  line.operands({"KEY [NAME|FILE]", 1, 2}, options->operands);
  declare_measured(line, *options);
  line.group("What to show");
  declare_shown_of_measured(line, *options);
  std::vector<std::string> of_measuring;
  for (const OptionInfo& option : line.options()) of_measuring.push_back(option.name);
  const auto is_measured = [options = options.get()] { return options->is_measured(); };
  line.needs(of_measuring, is_measured, "a measurement; results were named");
  declare_shown(line, *options);
  declare_incomplete(line, options->incomplete, "the results may be of a run that did not finish");
  line.needs({"allow-incomplete"}, std::not_fn(is_measured), "the name of a baseline or file");
  declare_showing(line, options->showing);
  line.check([options = options.get()] { return check(*options); });
  return [options](const Invocation& invocation) {
    return run_explain(*options, invocation.words, invocation.stop);
  };
}

}  // namespace instr
