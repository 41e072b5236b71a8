#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "core/base/output.h"

namespace instr::terminal_test {
namespace {

EnvironmentLookup environment_of(std::map<std::string, std::string> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

bool in_auto(bool is_terminal, std::map<std::string, std::string> values) {
  return use_color(ColorMode::kAuto, is_terminal, environment_of(std::move(values)));
}

TEST(Color, TheOptionDecidesAlone) {
  auto environment = environment_of({{"NO_COLOR", "1"}, {"TERM", "dumb"}});
  EXPECT_TRUE(use_color(ColorMode::kAlways, false, environment));
  environment = environment_of({{"CLICOLOR_FORCE", "1"}, {"TERM", "xterm"}});
  EXPECT_FALSE(use_color(ColorMode::kNever, true, environment));
}

TEST(Color, FollowsTheTerminal) {
  EXPECT_TRUE(in_auto(true, {{"TERM", "xterm"}}));
  EXPECT_FALSE(in_auto(false, {{"TERM", "xterm"}}));
  EXPECT_FALSE(in_auto(true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(in_auto(true, {}));
}

TEST(Color, FollowsTheEnvironment) {
  EXPECT_FALSE(in_auto(true, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(in_auto(true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_TRUE(in_auto(false, {{"CLICOLOR_FORCE", "1"}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", "0"}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", ""}}));
  EXPECT_FALSE(in_auto(false, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(in_auto(true, {{"TERM", "xterm"}, {"CLICOLOR", "0"}}));
}

TEST(Terminal, APipeHasNoWidthAndIsNotLive) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  auto environment = environment_of({{"TERM", "xterm"}, {"COLUMNS", "50"}});
  Terminal terminal = inspect_terminal(ends[1], ColorMode::kAlways, environment);
  EXPECT_FALSE(terminal.is_terminal);
  EXPECT_FALSE(terminal.live);
  EXPECT_TRUE(terminal.color);
  EXPECT_EQ(terminal.width, 0);
  EXPECT_EQ(terminal_width(ends[1], environment), 50);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "wide"}})), 80);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "-3"}})), 80);
  EXPECT_EQ(terminal_width(ends[1], environment_of({{"COLUMNS", "80x"}})), 80);
  close(ends[0]);
  close(ends[1]);
}

TEST(Styled, OnlyWithColor) {
  EXPECT_EQ(styled("text", Style::kBad, false), "text");
  EXPECT_EQ(styled("text", Style::kBad, true), "\x1b[31mtext\x1b[0m");
  EXPECT_EQ(styled("", Style::kBad, true), "");
}

}  // namespace
}  // namespace instr::terminal_test
