#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/output.h"
#include "core/cli/completion.h"
#include "core/cli/man_page.h"
#include "core/commands/commands.h"
#include "core/definitions/definition_schema.h"
#include "core/results/results_schema.h"

namespace instr {

namespace {

// All commands with their declarations.
class Declared {
 public:
  Declared() {
    for (const Command& command : commands()) {
      CommandLine& line = lines_.emplace_back(command.name);
      command.declare(line);
      summaries_.push_back({&line, command.summary});
    }
  }
  const std::vector<CommandSummary>& summaries() const { return summaries_; }

 private:
  std::deque<CommandLine> lines_;
  std::vector<CommandSummary> summaries_;
};

std::optional<std::string> generate_man_page(const std::vector<CommandSummary>& all,
                                             const std::string& name) {
  for (const CommandSummary& one : all) {
    if (one.line->command() == name) return man_page(one, &one == all.data());
  }
  return std::nullopt;
}

// One per line, for scripts that install a man page for each.
std::string command_names(const std::vector<CommandSummary>& all) {
  std::string names;
  for (const CommandSummary& one : all) names += one.line->command() + "\n";
  return names;
}

std::optional<std::string> generate_schema(const std::string& name) {
  if (name == "definitions") return definition_schema().dump(2) + "\n";
  if (name == "results") return results_schema().dump(2) + "\n";
  return std::nullopt;
}

ExitStatus generate(const std::vector<std::string>& operands) {
  const Declared declared;
  const auto& all = declared.summaries();
  const std::string& what = operands[0];
  std::optional<std::string> text;
  if (what == "man") {
    text = generate_man_page(all, operands.size() == 1 ? commands().front().name : operands[1]);
  } else if (what == "schema") {
    text = generate_schema(operands.size() == 1 ? "" : operands[1]);
  } else if (operands.size() == 1) {
    if (what == "bash") text = bash_completion(all);
    if (what == "zsh") text = zsh_completion(all);
    if (what == "fish") text = fish_completion(all);
    if (what == "commands") text = command_names(all);
  }
  if (!text) {
    return refuse(
        {{},
         "`generate` takes bash, zsh, fish, man, man COMMAND, commands, schema definitions "
         "or schema results",
         "see instr_bench generate --help"});
  }
  print_output(*text);
  return kGood;
}

}  // namespace

Action generate_command(CommandLine& line) {
  auto operands = std::make_shared<std::vector<std::string>>();
  auto showing = std::make_shared<Showing>();
  line.describe(
      "Prints completions for bash, zsh or fish, the man page of the command NAME, the names of "
      "all "
      "commands, or a JSON Schema: of definition files (schema definitions) or of the lines of "
      "results files (schema results). For this shell: source <(instr_bench generate bash); "
      "instr_bench generate fish | source. For an editor: instr_bench generate schema definitions "
      "> "
      "definition.schema.json.");
  line.operands({"bash|zsh|fish|man|commands|schema [NAME]", 1, 2}, *operands);
  line.group("What to show");
  declare_showing(line, *showing);
  return [operands, showing](const Invocation&) { return generate(*operands); };
}

}  // namespace instr
