#include "core/commands/cli/help.h"

#include "core/base/format.h"

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

}  // namespace instr
