#include <unistd.h>

#include <memory>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/cli/measuring.h"
#include "core/commands/commands.h"
#include "core/commands/doctor_checks.h"

namespace instr {

namespace {

struct DoctorArguments {
  ToolConfig tools;
  Showing showing;
};

ExitStatus run_doctor(const DoctorArguments& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.showing.color).color;
  bool good = examine(
      options.tools, [&](const Finding& finding) { print_output(finding_line(finding, color)); },
      stop);
  if (stop.stop_requested()) return kInterrupted;
  return good ? kGood : kBadSetup;
}

}  // namespace

Action doctor_command(CommandLine& line) {
  auto options = std::make_shared<DoctorArguments>();
  line.describe(
      "Checks everything that measuring needs, reports what is missing and how to fix it, and "
      "counts a canary: code whose exact number of instructions is known.");
  line.group("What to check");
  declare_tools(line, options->tools);
  declare_showing(line, options->showing);
  return [options](const Invocation& invocation) { return run_doctor(*options, invocation.stop); };
}

}  // namespace instr
