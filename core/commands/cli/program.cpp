#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/environment.h"
#include "core/base/near_match.h"
#include "core/base/output.h"
#include "core/commands/cli/command.h"
#include "core/commands/cli/help.h"

namespace instr {

namespace {

using Words = std::vector<std::string>;

// Finds the option of any command that a word names.
std::optional<OptionInfo> find_option(const std::string& word) {
  for (const Command& command : commands()) {
    CommandLine line(command.name);
    command.declare(line);
    if (const OptionInfo* option = line.find(word)) return *option;
  }
  return std::nullopt;
}

// Finds the first word before `--` that is neither an option nor an option's value.
Words::const_iterator find_operand(const Words& words) {
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (!is_option(*word)) return word;
    const auto option = find_option(*word);
    if (option && option->takes_next(*word) && ++word == words.end()) break;
  }
  return words.end();
}

Error unknown_command(const std::string& word) {
  Words names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  auto near = nearest(word, names);
  std::string advice = near ? fmt::format("did you mean `{}`? ", *near) : "";
  return {{},
          fmt::format("there is no command `{}`", word),
          advice + fmt::format("to select benchmarks, write --filter={}", word)};
}

// Looks for an option before `--`.
bool asks_for(const Words& words, std::string_view option, std::string_view letter = {}) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end, [&](const std::string& word) {
    return word == option || (!letter.empty() && word == letter);
  });
}

// Explains an option of another command, which would have no effect.
std::optional<Error> explain_foreign(const std::string& word, const CommandLine& line) {
  const auto foreign = find_option(word);
  if (!foreign) return std::nullopt;
  return Error{
      {},
      fmt::format("--{} does not apply to the command `{}`", foreign->name, line.command()),
      fmt::format("omit it, or see instr_bench {} --help", line.command())};
}

ParsedCommand print_only(const Command& command, std::string text) {
  return {&command, [text = std::move(text)](const Invocation&) {
            print_output(text);
            return kGood;
          }};
}

}  // namespace

Expected<ParsedCommand> parse_command(const Words& all) {
  const Command& usual = commands().front();
  Words words = all;
  const auto operand = find_operand(words);
  if (operand != words.end() && operand->empty()) {
    return fail("an argument is empty", "a shell variable without a value may be why");
  }
  const Command* command = operand == words.end() ? &usual : find_command(*operand);
  if (asks_for(words, "--version") || words == Words{"version"} || words == Words{"-v"}) {
    return print_only(usual, fmt::format("instr_bench {}\n", kProgramVersion));
  }
  // The other words need not be valid.
  if (asks_for(words, "--help", "-h")) {
    return print_only(usual, help_of(command == nullptr ? usual : *command));
  }
  if (command == nullptr) return fail(unknown_command(*operand));
  if (operand != words.end()) words.erase(operand);
  CommandLine line(command->name);
  Action action = command->declare(line);
  TRY(line.parse(words, [&line](const std::string& word) { return explain_foreign(word, line); }));
  return ParsedCommand{command, std::move(action)};
}

std::string help_of(const Command& command) {
  CommandLine line(command.name);
  command.declare(line);
  return help_text(line);
}

int failed_status(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const Command* command = find_command(argv[i]);
    if (command != nullptr && command->failed != kBadSetup) return command->failed;
  }
  return kBadSetup;
}

}  // namespace instr
