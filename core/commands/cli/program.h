// From a command line to the command that it names, with its options parsed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/commands/cli/command.h"

namespace instr {

// A command whose options are parsed.
struct ParsedCommand {
  const Command* command = nullptr;
  Action action;
};

// Parses the words after the program's name. Options may stand before or after the command. Errors
// have no place; their advice names the nearest word.
Expected<ParsedCommand> parse_command(const std::vector<std::string>& words);

std::string help_of(const Command& command);

// The exit status if the command of this command line fails. Allocates nothing, since lack of
// memory is one of the failures.
int failed_status(int argc, char** argv);

}  // namespace instr
