#include "core/report/list.h"

#include <fmt/core.h>
#include <unistd.h>

#include "core/base/terminal.h"
#include "core/commands/commands.h"
#include "core/run/pipeline.h"

namespace instr {

ExitStatus list_command(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  fmt::print("{}", list_text(*variants));
  if (isatty(STDOUT_FILENO)) fmt::print(stderr, "{}", list_summary(*variants));
  return kGood;
}

ExitStatus dry_run_command(const Options& options) {
  auto variants = plan(options);
  if (!variants) return refuse(variants.error());
  auto planned = plan_run(options, *variants);
  if (!planned) return refuse(planned.error());
  fmt::print("{}", dry_run_text(*planned, inspect_terminal(STDOUT_FILENO, options.color).color));
  return kGood;
}

}  // namespace instr
