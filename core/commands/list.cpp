#include "core/report/list.h"

#include <unistd.h>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/run/pipeline.h"

namespace instr {

ExitStatus list_command(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  print_output(list_text(*variants));
  if (isatty(STDOUT_FILENO)) print_message(list_summary(*variants));
  return kGood;
}

ExitStatus dry_run_command(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  auto planned = plan_run(options, *variants);
  if (!planned) return refuse(planned.error());
  print_output(dry_run_text(*planned, inspect_terminal(STDOUT_FILENO, options.color).color));
  return kGood;
}

}  // namespace instr
