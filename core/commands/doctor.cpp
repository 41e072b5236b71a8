#include "core/run/doctor.h"

#include <unistd.h>

#include "core/base/output.h"
#include "core/base/terminal.h"
#include "core/commands/commands.h"

namespace instr {

ExitStatus doctor_command(const Options& options, std::stop_token stop) {
  bool color = inspect_terminal(STDOUT_FILENO, options.color).color;
  bool good = examine(
      options, [&](const Finding& finding) { print_output(finding_line(finding, color)); }, stop);
  if (stop.stop_requested()) return kInterrupted;
  return good ? kGood : kBadSetup;
}

}  // namespace instr
