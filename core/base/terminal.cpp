#include "core/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/parse_number.h"

namespace instr {

namespace {

constexpr int kDefaultWidth = 80;

bool is_set(const EnvironmentLookup& environment, const std::string& name) {
  auto value = environment(name);
  return value && !value->empty();
}

bool is_dumb(const EnvironmentLookup& environment) {
  auto term = environment("TERM");
  return !term || term->empty() || *term == "dumb";
}

constexpr std::string_view kPlain = "\x1b[0m";

const char* escape_sequence(Style style) {
  switch (style) {
    case Style::kHeading: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kBad: return "\x1b[31m";
    case Style::kWarning: return "\x1b[33m";
  }
  return "";
}

}  // namespace

bool use_color(ColorMode mode, bool is_terminal, const EnvironmentLookup& environment) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  if (is_set(environment, "NO_COLOR")) return false;
  if (is_set(environment, "CLICOLOR_FORCE") && environment("CLICOLOR_FORCE") != "0") return true;
  return is_terminal && !is_dumb(environment) && environment("CLICOLOR") != "0";
}

int terminal_width(int fd, const EnvironmentLookup& environment) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (auto columns = environment("COLUMNS")) {
    if (const int width = parse_number<int>(*columns).value_or(0); width > 0) return width;
  }
  return kDefaultWidth;
}

Terminal inspect_terminal(int fd, ColorMode mode, const EnvironmentLookup& environment) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  terminal.color = use_color(mode, terminal.is_terminal, environment);
  terminal.live = terminal.is_terminal && !is_dumb(environment);
  if (terminal.is_terminal) terminal.width = terminal_width(fd, environment);
  return terminal;
}

std::size_t style_length(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  if (text.starts_with(kPlain)) return kPlain.size();
  for (const Style style :
       {Style::kHeading, Style::kDim, Style::kGood, Style::kBad, Style::kWarning}) {
    const std::string_view sequence = escape_sequence(style);
    if (text.starts_with(sequence)) return sequence.size();
  }
  return 0;
}

std::string styled(std::string_view text, Style style, bool color) {
  if (!color || text.empty()) return std::string(text);
  return escape_sequence(style) + std::string(text) + std::string(kPlain);
}

}  // namespace instr
