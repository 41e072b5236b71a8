#include "core/commands/cli/help.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/format.h"
#include "core/base/text.h"

namespace instr {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kHelpColumn = 26;

std::string filled(const std::string& text) {
  std::string out;
  for (const std::string& line : wrap(text, kWidth)) out += line + "\n";
  return out;
}

std::string help_sections(const CommandLine& line, bool are_above_options) {
  std::string out;
  for (const HelpSection& section : line.sections()) {
    if (section.is_above_options != are_above_options) continue;
    out += "\n" + section.title + "\n" + section.text;
  }
  return out;
}

bool is_list(const OptionInfo& option) { return option.value == "LIST"; }

bool is_file(const OptionInfo& option) {
  constexpr std::array<std::string_view, 6> kFiles{"FILE", "PATH", "DIR", "NAME|FILE", "PROGRAM"};
  return std::find(kFiles.begin(), kFiles.end(), option.value) != kFiles.end();
}

template <class Items, class Text>
std::string joined(const Items& items, const char* between, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : between) + text(item);
  return out;
}

std::string choices_of(const OptionInfo& option) {
  return joined(option.choices, " ", [](const std::string& word) { return word; });
}

std::string command_names(std::span<const CommandSummary> commands, const char* between) {
  return joined(commands, between,
                [](const CommandSummary& command) { return command.line->command(); });
}

// Quotes text for fish, which interprets backslashes in single quotes.
std::string quote_for_fish(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

// Escapes help for the brackets of _arguments.
std::string zsh_help(std::string_view text) {
  std::string out;
  for (char c : text)
    out += (std::string_view("[]:\\").find(c) != std::string_view::npos ? "\\" : "") +
           std::string(1, c);
  return out;
}

constexpr const char* kBashStart = R"sh(_instr_bench_choices() {
  local done=
  if [ "$1" = list ] && [ "${current%,*}" != "$current" ]; then done=${current%,*},; fi
  COMPREPLY=($(compgen -P "$done" -W "$2" -- "${current#"$done"}"))
  if [ "$1" = list ]; then compopt -o nospace; fi
}

_instr_bench() {
  local current=${COMP_WORDS[COMP_CWORD]} option='' command='' word
  COMPREPLY=()
  # A `=` is a word of its own.
  if [ "$current" = '=' ]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} current=''
  elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = '=' ]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in @NAMES@) command=$word && break ;; esac
  done
)sh";

constexpr const char* kBashEnd = R"sh(  if [ -n "$option" ]; then return; fi
  case $current in
    -*)
      COMPREPLY=($(compgen -W "$options" -- "$current"))
      case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac
      ;;
    *)
      case $command in
        '' | help) COMPREPLY=($(compgen -W "@NAMES@" -- "$current")) ;;
        explain) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" list 2>/dev/null)" -- "$current")) ;;
        *) COMPREPLY=($(compgen -f -- "$current")) && compopt -o filenames ;;
      esac
      ;;
  esac
}

complete -F _instr_bench instr_bench
)sh";

std::string with_names(std::string text, std::span<const CommandSummary> commands,
                       const char* between) {
  constexpr std::string_view kMark = "@NAMES@";
  for (std::size_t at = 0; (at = text.find(kMark, at)) != text.npos;) {
    text.replace(at, kMark.size(), command_names(commands, between));
  }
  return text;
}

std::string bash_case(const CommandLine& line, bool is_usual) {
  std::string out = "    " + line.command() + (is_usual ? " | ''" : "") + ")\n      options='";
  out += joined(line.options(), " ", [](const OptionInfo& option) {
    return "--" + option.name + (option.value.empty() ? "" : "=");
  });
  out += "'\n      case $option in\n";
  for (const OptionInfo& option : line.options()) {
    if (!option.choices.empty()) {
      out += "        --" + option.name + ") _instr_bench_choices " +
             (is_list(option) ? "list" : "one") + " '" + choices_of(option) + "' ;;\n";
    } else if (is_file(option)) {
      out += "        --" + option.name +
             ") COMPREPLY=($(compgen -f -- \"$current\")) && compopt -o filenames ;;\n";
    }
  }
  return out + "      esac\n      ;;\n";
}

// "'*--backend=[help]:LIST:_sequence compadd - eager ...'".
std::string zsh_option(const OptionInfo& option) {
  std::string out =
      "*--" + option.name + (option.value.empty() ? "" : "=") + "[" + zsh_help(option.help) + "]";
  if (option.value.empty()) return shell_quoted(out);
  out += ":" + zsh_help(option.value) + ":";
  if (!option.choices.empty()) {
    out += is_list(option) ? "_sequence compadd - " + choices_of(option)
                           : "(" + choices_of(option) + ")";
  } else {
    out += is_file(option) ? "_files" : " ";
  }
  return shell_quoted(out);
}

}  // namespace

std::string format_usage(const CommandLine& line) {
  if (!line.usage().empty()) return line.usage();
  std::string usage = "instr_bench " + line.command();
  if (!line.operands().usage.empty()) usage += " " + line.operands().usage;
  usage += " [options]";
  return line.rest_usage().empty() ? usage : usage + " -- " + line.rest_usage();
}

std::string format_names(const OptionInfo& option) {
  std::string names = option.letter == '\0' ? "" : std::string("-") + option.letter + ", ";
  names += "--" + option.name;
  return option.value.empty() ? names : names + "=" + option.value;
}

std::string help_entry(const std::string& names, const std::string& help) {
  std::string out = "  " + names;
  bool is_beside = out.size() + 2 <= kHelpColumn;
  if (!is_beside) out += "\n";
  for (const std::string& line : wrap(help, kWidth - kHelpColumn)) {
    out = is_beside ? pad_right(out, kHelpColumn) : out + std::string(kHelpColumn, ' ');
    out += line + "\n";
    is_beside = false;
  }
  return out;
}

std::string help_text(const CommandLine& line) {
  std::string out = "Usage: " + format_usage(line) + "\n\n" + filled(line.description());
  out += help_sections(line, true);
  std::string group;
  for (const OptionInfo& option : line.options()) {
    if (option.group != group) out += "\n" + option.group + "\n";
    group = option.group;
    out += help_entry(format_names(option), option.help);
  }
  return out + help_sections(line, false);
}

std::string bash_completion(std::span<const CommandSummary> commands) {
  std::string out = "# bash completion of instr_bench\n";
  out += with_names(kBashStart, commands, " | ");
  out += "  local options=''\n  case $command in\n";
  for (const CommandSummary& command : commands) {
    out += bash_case(*command.line, &command == commands.data());
  }
  return out + "  esac\n" + with_names(kBashEnd, commands, " ");
}

std::string zsh_completion(std::span<const CommandSummary> commands) {
  std::string out = "#compdef instr_bench\n# zsh completion of instr_bench\n\n_instr_bench() {\n";
  out += "  local -a names=(" + command_names(commands, " ") + ")\n  local -a summaries=(\n";
  for (const CommandSummary& command : commands) {
    out += "    " + shell_quoted(command.line->command() + ":" + command.text) + "\n";
  }
  out +=
      "  )\n"
      "  local command= word\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    if (( ${names[(Ie)$word]} )); then command=$word; break; fi\n"
      "  done\n"
      "  local -a operands=('*: :_files')\n"
      "  case $command in\n"
      "    '') operands=('*: :{_describe command summaries}') ;;\n"
      "    explain) operands=('*: :{compadd -- $(${words[1]} list 2>/dev/null)}') ;;\n"
      "    help) operands=('*: :{compadd -- $names}') ;;\n"
      "  esac\n"
      "  case $command in\n";
  for (const CommandSummary& command : commands) {
    out += "    " + command.line->command() + (&command == commands.data() ? "|''" : "") +
           ")\n      _arguments";
    for (const OptionInfo& option : command.line->options()) {
      out += " \\\n        " + zsh_option(option);
    }
    out += " \\\n        $operands\n      ;;\n";
  }
  return out +
         "  esac\n}\n\n"
         "if [ \"${funcstack[1]}\" = _instr_bench ]; then _instr_bench \"$@\"\n"
         "else compdef _instr_bench instr_bench\nfi\n";
}

std::string fish_completion(std::span<const CommandSummary> commands) {
  const std::string names = command_names(commands, " ");
  std::string out =
      "# fish completion of instr_bench\n"
      "function __instr_bench_command\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if contains -- $word " +
      names +
      "\n"
      "      echo $word\n"
      "      return\n"
      "    end\n"
      "  end\n"
      "end\n\n"
      "function __instr_bench_is\n"
      "  contains -- \"$(__instr_bench_command)\" $argv\n"
      "end\n\n"
      "complete -c instr_bench -n '__instr_bench_is \"\" explain help' -f\n"
      "complete -c instr_bench -n '__instr_bench_is explain' -a '(instr_bench list 2>/dev/null)'\n"
      "complete -c instr_bench -n '__instr_bench_is help' -a '" +
      names + "'\n";
  for (const CommandSummary& command : commands) {
    const std::string& name = command.line->command();
    out += "complete -c instr_bench -n '__instr_bench_is \"\"' -a " + name + " -d " +
           quote_for_fish(command.text) + "\n";
    const std::string when =
        " -n '__instr_bench_is " + name + (&command == commands.data() ? " \"\"" : "") + "'";
    for (const OptionInfo& option : command.line->options()) {
      out += "complete -c instr_bench" + when + " -l " + option.name;
      if (option.letter != '\0') out += std::string(" -s ") + option.letter;
      if (!option.choices.empty()) {
        out += " -x -a '" +
               (is_list(option) ? "(__fish_append , " + choices_of(option) + ")"
                                : choices_of(option)) +
               "'";
      } else if (!option.value.empty()) {
        out += is_file(option) ? " -r -F" : " -x";
      }
      out += " -d " + quote_for_fish(option.help) + "\n";
    }
  }
  return out;
}

}  // namespace instr
