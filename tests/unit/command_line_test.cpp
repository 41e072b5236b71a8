// Command lines whose rest is passed on to another command.
#include "core/commands/cli/command_line.h"

#include <gtest/gtest.h>

namespace instr::command_line_test {
namespace {

using Words = std::vector<std::string>;

struct PassOn : ::testing::Test {
  PassOn() {
    line.operands({"BASE", 1, 1}, operands);
    line.pass_on("OPTIONS...", rest);
    line.option("--make", "COMMAND", "help", take_text(make));
    line.may_be_empty("make");
  }

  CommandLine line{"check"};
  Words operands;
  Words rest;
  std::optional<std::string> make;
};

TEST_F(PassOn, OptionsAfterTheOperandAreNotRead) {
  const Words words{"--make", "all", "main", "--make", "--jobs=3", "x"};
  ASSERT_TRUE(line.parse(words));
  EXPECT_EQ(make, "all");
  EXPECT_EQ(operands, Words{"main"});
  EXPECT_EQ(rest, (Words{"--make", "--jobs=3", "x"}));
}

TEST_F(PassOn, OwnOptionsMayStandOnEitherSide) {
  std::optional<std::string> report;
  CommandLine either{"check"};
  either.operands({"BASE", 1, 1}, operands);
  either.pass_on("OPTIONS...", rest, {"make", "report"});
  either.option("--make", "COMMAND", "help", take_text(make));
  either.option("--report", "FILE", "help", take_text(report));
  either.may_be_empty("make");
  ASSERT_TRUE(either.parse({"--report=r", "main", "--jobs=3", "--make", "all", "--filter", "x"}));
  EXPECT_EQ(operands, Words{"main"});
  EXPECT_EQ(report, "r");
  EXPECT_EQ(make, "all");
  EXPECT_EQ(rest, (Words{"--jobs=3", "--filter", "x"}));
  EXPECT_FALSE(either.parse({"main", "--make"}));
}

TEST_F(PassOn, DashesBeforeTheRestAreDropped) {
  ASSERT_TRUE(line.parse({"main", "--", "--jobs=3"}));
  EXPECT_EQ(rest, Words{"--jobs=3"});
}

TEST_F(PassOn, AnEmptyValueIsNoOption) {
  ASSERT_TRUE(line.parse({"--make=", "main"}));
  EXPECT_EQ(make, std::nullopt);
  EXPECT_TRUE(rest.empty());
}

TEST_F(PassOn, TheOperandIsNeeded) {
  EXPECT_FALSE(line.parse({}));
  EXPECT_FALSE(line.parse({"--make=all"}));
  EXPECT_FALSE(line.parse({"--", "main"}));
}

}  // namespace
}  // namespace instr::command_line_test
