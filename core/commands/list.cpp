#include "core/report/list.h"

#include <unistd.h>

#include <set>

#include "core/base/output.h"
#include "core/commands/commands.h"
#include "core/compile/compiled_variant.h"
#include "core/report/formats.h"
#include "core/run/left_out.h"
#include "core/run/pipeline.h"
#include "core/run/tools.h"

namespace instr {

namespace {

struct ListOptions {
  PlanConfig plan;
  std::optional<ReportFormat> format;  // absent: keys
  Showing showing;
};

ExpectedStatus show_list(const ListOptions& options) {
  TRY_ASSIGN(auto variants, plan(options.plan));
  print_output(options.format ? render(*options.format, list_document(variants),
                                       render_options(options.showing))
                              : list_keys(variants));
  if (isatty(STDOUT_FILENO)) print_message(list_summary(variants));
  return kGood;
}

// Plans a run without starting a worker: which variants are cached, to be compiled or skipped.
Expected<std::vector<PlannedVariant>> plan_run(const MeasureConfig& config,
                                               const std::vector<Variant>& variants) {
  TRY_ASSIGN(auto tools, Tools::find(config));
  tools->expect(variants);
  std::set<std::string> cached;
  for (const LanguageFacts& known : kLanguages) {
    TRY_ASSIGN(
        auto keys,
        tools->language(known.language).find_compiled(in_language(variants, known.language)));
    cached.merge(keys);
  }
  const Capabilities capabilities{tools->libtorch(), config.wants_times};
  std::vector<PlannedVariant> planned;
  for (const Variant& variant : variants) {
    auto obstacle = find_obstacle(variant, capabilities, tools->language(variant.language));
    const bool is_unknown = variant.build && !variant.build->sources.empty();
    const auto step = obstacle                       ? PlannedStep::kSkip
                      : cached.contains(variant.key) ? PlannedStep::kCached
                      : is_unknown                   ? PlannedStep::kUnknown
                                                     : PlannedStep::kCompile;
    planned.push_back({variant, step, obstacle.value_or("")});
  }
  return planned;
}

}  // namespace

ExpectedStatus show_dry_run(const PlanConfig& config, const MeasureConfig& measure,
                            const Showing& showing, const FindMeasured& find_measured) {
  TRY_ASSIGN(auto selected, plan(config));
  TRY_ASSIGN(const auto split, leave_out_unusable(std::move(selected), measure.tools,
                                                  config.selection.shard.has_value()));
  print_message(split.note);
  TRY_ASSIGN(auto planned, plan_run(measure, split.runnable));
  if (find_measured) {
    TRY_ASSIGN(const auto measured, find_measured(split.runnable));
    for (PlannedVariant& each : planned) {
      if (measured.contains(each.variant.key)) each.step = PlannedStep::kMeasured;
    }
  }
  print_output(dry_run_text(planned, inspect_terminal(STDOUT_FILENO, showing.color).color));
  return kGood;
}

Action list_command(CommandLine& line) {
  auto options = std::make_shared<ListOptions>();
  line.describe("Prints the key of each benchmark that a run would measure, one per line.");
  declare_plan(line, options->plan);
  declare_shard(line, options->plan.selection);
  line.group("What to show");
  declare_format(line, options->format, "keys",
                 "json, jsonl and csv have the parameters, tags, file and line of each");
  declare_showing(line, options->showing);
  return [options](const Invocation&) { return show_list(*options); };
}

}  // namespace instr
