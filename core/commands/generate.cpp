#include <algorithm>
#include <cctype>
#include <deque>
#include <nlohmann/json.hpp>

#include "core/base/environment.h"
#include "core/base/output.h"
#include "core/base/read_file.h"
#include "core/commands/cli/help.h"
#include "core/commands/commands.h"
#include "core/compile/installation.h"
#include "core/definitions/definition_keys.h"
#include "core/results/results_file.h"

namespace instr {

namespace {

// The commands with their declarations.
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

// Escapes text for roff, so that backslashes and dashes stay and no line is taken for a request.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else {
      out += text[i] == '-' ? "\\-" : std::string(1, text[i]);
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string heading(const std::string& title) { return ".SH \"" + upper(title) + "\"\n"; }

std::string man_sections(const CommandLine& line, bool are_above_options) {
  std::string out;
  for (const HelpSection& section : line.sections()) {
    if (section.is_above_options != are_above_options) continue;
    out += heading(section.title) + ".nf\n" + roff(section.text) + ".fi\n";
  }
  return out;
}

// The page instr_bench-COMMAND(1), and instr_bench(1) for the default command; roff with the macros
// of man(7).
std::string man_page(const CommandSummary& command, bool is_usual) {
  const CommandLine& line = *command.line;
  const std::string name = is_usual ? "instr_bench" : "instr_bench-" + line.command();
  std::string out = ".TH \"" + upper(name) + "\" 1 \"\" \"instr_bench " + kProgramVersion + "\"\n";
  const std::string what =
      is_usual ? "exact instruction counts of small LibTorch snippets" : command.text;
  out += ".SH NAME\n" + roff(name) + " \\- " + roff(what) + "\n";
  out += ".SH SYNOPSIS\n" + roff(format_usage(line)) + "\n";
  out += ".SH DESCRIPTION\n" + roff(line.description()) + "\n" + man_sections(line, true);
  std::string group;
  for (const OptionInfo& option : line.options()) {
    if (option.group != group) out += heading(option.group);
    group = option.group;
    out += ".TP\n\\fB" + roff(format_names(option)) + "\\fR\n" + roff(option.help) + "\n";
  }
  return out + man_sections(line, false);
}

std::optional<std::string> generate_man_page(const std::vector<CommandSummary>& all,
                                             const std::string& name) {
  for (const CommandSummary& command : all) {
    if (command.line->command() == name) return man_page(command, &command == all.data());
  }
  return std::nullopt;
}

// A name per line, for scripts that install a man page for each command.
std::string command_names(const std::vector<CommandSummary>& all) {
  std::string names;
  for (const CommandSummary& command : all) names += command.line->command() + "\n";
  return names;
}

ExpectedStatus generate(const std::vector<std::string>& operands) {
  const Declared declared;
  const auto& all = declared.summaries();
  const std::string& what = operands[0];
  std::optional<std::string> text;
  if (what == "man") {
    text = generate_man_page(all, operands.size() == 1 ? commands().front().name : operands[1]);
  } else if (what == "schema" && operands.size() == 2 && operands[1] == "definitions") {
    text = definition_schema().dump(2) + "\n";
  } else if (operands.size() == 1) {
    if (what == "bash") text = bash_completion(all);
    if (what == "zsh") text = zsh_completion(all);
    if (what == "fish") text = fish_completion(all);
    if (what == "commands") text = command_names(all);
    if (what == "agents") {
      TRY_ASSIGN(text, read_file(find_installation().agents, kMaxTextBytes));
    }
  }
  if (!text) {
    return fail(
        "`generate` takes bash, zsh, fish, man, man COMMAND, commands, schema definitions or "
        "agents",
        "see instr_bench generate --help");
  }
  print_output(*text);
  return kGood;
}

}  // namespace

Action generate_command(CommandLine& line) {
  auto operands = std::make_shared<std::vector<std::string>>();
  auto showing = std::make_shared<Showing>();
  line.describe(
      "Prints completions (bash, zsh or fish), the man page of a command (man NAME), the names of "
      "all commands (commands), the JSON Schema of definition files (schema definitions), or a "
      "page that tells coding agents how to use this program (agents). For this shell: source "
      "<(instr_bench generate bash); instr_bench generate fish | source. For an editor: "
      "instr_bench generate schema definitions > definition.schema.json. For agents: instr_bench "
      "generate agents >> AGENTS.md.");
  line.operands({"WHAT [NAME]", 1, 2}, *operands);
  line.group("What to show");
  declare_showing(line, *showing);
  return [operands, showing](const Invocation&) { return generate(*operands); };
}

}  // namespace instr
