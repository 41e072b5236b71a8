
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/commands/cli/command.h"
#include "core/commands/commands.h"

namespace instr {

namespace {

ExpectedStatus print_help(const std::vector<std::string>& names) {
  const Command* command = names.empty() ? &commands().front() : find_command(names[0]);
  if (command != nullptr) {
    print_output(help_of(*command));
    return kGood;
  }
  std::vector<std::string> known;
  for (const Command& candidate : commands()) known.emplace_back(candidate.name);
  return fail("there is no command `" + names[0] + "`", suggest_value(names[0], known));
}

}  // namespace

Action help_command(CommandLine& line) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto showing = std::make_shared<Showing>();
  line.describe("Prints the help of a command, as instr_bench COMMAND --help does.");
  line.operands({"[COMMAND]", 0, 1}, *names);
  line.group("What to show");
  declare_showing(line, *showing);
  return [names, showing](const Invocation&) { return print_help(*names); };
}

}  // namespace instr
