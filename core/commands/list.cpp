#include "core/report/list.h"

#include <unistd.h>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/report/formats.h"
#include "core/run/dry_run.h"
#include "core/run/left_out.h"
#include "core/run/pipeline.h"

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
