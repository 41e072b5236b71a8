#include "core/cli/man_page.h"

#include <algorithm>
#include <cctype>

#include "core/base/version.h"
#include "core/cli/help.h"

namespace instr {

namespace {

// A line of text, escaped so that backslashes and dashes stay and nothing is taken for a request.
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

}  // namespace

std::string man_page(const CommandSummary& command, bool is_usual) {
  const CommandLine& line = *command.line;
  const std::string name = is_usual ? "instr_bench" : "instr_bench-" + line.command();
  std::string out = ".TH \"" + upper(name) + "\" 1 \"\" \"instr_bench " + kProgramVersion + "\"\n";
  const std::string what =
      is_usual ? "exact instruction counts of small LibTorch snippets" : command.text;
  out += ".SH NAME\n" + roff(name) + " \\- " + roff(what) + "\n";
  out += ".SH SYNOPSIS\n" + roff(usage_of(line)) + "\n";
  out += ".SH DESCRIPTION\n" + roff(line.description()) + "\n" + man_sections(line, true);
  std::string group;
  for (const OptionInfo& option : line.options()) {
    if (option.group != group) out += heading(option.group);
    group = option.group;
    out += ".TP\n\\fB" + roff(names_of(option)) + "\\fR\n" + roff(option.help) + "\n";
  }
  return out + man_sections(line, false);
}

}  // namespace instr
