// instr_bench: finds the command that a command line names, runs it, and ends with its exit status.
// The command that measures is core/commands/run.cpp.
#include <algorithm>

#include "core/base/git.h"
#include "core/base/output.h"
#include "core/base/process.h"
#include "core/base/program_end.h"
#include "core/commands/cli/command.h"

namespace instr {
namespace {

// Returns the exit status; `failed` is the one for errors.
int run_words(const std::vector<std::string>& words, int failed) {
  const auto parsed =
      parse_command({words.begin() + std::min<std::ptrdiff_t>(1, std::ssize(words)), words.end()});
  if (!parsed) {
    refuse(parsed.error());
    return failed;
  }
  Interrupt interrupt(parsed->command->on_interrupt == OnInterrupt::kEnd);
  const ExpectedStatus result = parsed->action({words, interrupt.token()});
  if (!result) refuse(result.error());
  const int status = result.value_or(failed);
  // An interrupted read or write may have failed with another status.
  return status == failed && interrupt.token().stop_requested() ? kInterrupted : status;
}

}  // namespace
}  // namespace instr

int main(int argc, char** argv) {
  instr::reset_inherited_signals();
  instr::open_standard_streams();
  instr::leave_foreign_repository();
  const int failed = instr::failed_status(argc, argv);
  const int status = instr::with_last_resort(failed, [=] {
    return instr::run_words({argv, argv + argc}, failed);
  });
  return instr::finish_output(status, failed);
}
