// Subcommands: entries of the table in commands.cpp, each with a file of its own, found and parsed
// from a command line.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/program_end.h"
#include "core/commands/cli/command_line.h"

namespace instr {

struct Invocation {
  std::vector<std::string> words;  // the whole command line, beginning with the program's name
  std::stop_token stop;
};

// Runs a command whose options have been parsed.
using Action = std::function<ExpectedStatus(const Invocation& invocation)>;

// The effect of the first Ctrl-C on a command.
enum class OnInterrupt {
  kEnd,    // ends the program at once: the command only reads and prints
  kFinish  // asks the command to stop, so that it can keep its results
};

struct Command {
  const char* name;
  const char* operands;  // shown in the list of commands
  const char* summary;   // a line of that list
  OnInterrupt on_interrupt;
  int failed;  // the exit status if the command cannot start
  // Declares the options, and returns the action that uses them. The action outlives the line.
  Action (*declare)(CommandLine& line);
};

// The commands in the order of --help; the first is the default command.
std::span<const Command> commands();

// Returns null if there is no such command.
const Command* find_command(std::string_view name);

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
