
#include "core/report/list.h"

#include <unistd.h>

#include <memory>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/cli/selecting.h"
#include "core/commands/cli/values.h"
#include "core/commands/commands.h"
#include "core/run/dry_run.h"
#include "core/run/pipeline.h"

namespace instr {

namespace {

ExpectedStatus show_list(const PlanConfig& config, ListFormat format) {
  TRY_ASSIGN(auto variants, plan(config));
  print_output(list_text(variants, format));
  if (isatty(STDOUT_FILENO)) print_message(list_summary(variants));
  return kGood;
}

}  // namespace

ExpectedStatus show_dry_run(const PlanConfig& config, const MeasureConfig& measure,
                            const Showing& showing) {
  TRY_ASSIGN(auto variants, plan(config));
  TRY_ASSIGN(auto planned, plan_run(measure, variants));
  print_output(dry_run_text(planned, inspect_terminal(STDOUT_FILENO, showing.color).color));
  return kGood;
}

Action list_command(CommandLine& line) {
  struct Options {
    PlanConfig plan;
    ListFormat format = ListFormat::kKeys;
    Showing showing;
  };
  auto options = std::make_shared<Options>();
  const Choices<ListFormat> formats{
      {"keys", ListFormat::kKeys}, {"json", ListFormat::kJson}, {"csv", ListFormat::kCsv}};
  line.describe("Prints the key of each benchmark that a run would measure, one per line.");
  declare_plan(line, options->plan);
  declare_shard(line, options->plan.selection);
  line.group("What to show");
  line.option("--format", "FORMAT",
              "keys; json or csv: with parameters, tags, file and line of each",
              take_choice(options->format, formats), names_of(formats));
  declare_showing(line, options->showing);
  return [options](const Invocation&) { return show_list(options->plan, options->format); };
}

}  // namespace instr
