// The words of a command line, sorted into command, options and operands, but not yet understood.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/run/options.h"

namespace instr {

struct OptionWords {
  std::map<std::string, std::vector<std::string>> settings;  // values in the order given
  std::map<std::string, bool> switches;
  std::string command_word;  // as written; empty where there is none
  Command command = Command::kRun;
  std::vector<std::string> operands;  // behind the command
  std::vector<std::string> rest;      // behind `--`

  bool has(const std::string& name) const;
};

// "--filter", ...: the options of all commands.
std::vector<std::string> known_options();

// Every option stands in `settings` or `switches`. Errors: an unknown word, an option that lacks
// its value or does not belong to the command, operands where the command takes none.
Expected<OptionWords> read_option_words(std::vector<std::string> words);

}  // namespace instr
