// The words of a command line: options with their values, operands, and a rest that is passed on.
#include "core/commands/cli/command_line.h"

#include <gtest/gtest.h>

namespace instr::command_line_test {
namespace {

using WordList = std::vector<std::string>;

struct Words : ::testing::Test {
  Words() {
    line.operands({"[FILE...]", 0, 9}, operands);
    line.option("-j,--jobs,--cores", "N", "help", take_number(jobs, 1));
    line.option("--filter", "PATTERN", "help", add_text(filters));
    line.flag("-q,--quiet", "help", is_quiet);
    line.flag("-v,--verbose", "help", is_verbose);
  }
  std::string error_of(const WordList& words) {
    const auto parsed = line.parse(words);
    return parsed ? "" : parsed.error().what;
  }

  CommandLine line{"check"};
  WordList operands;
  WordList filters;
  std::optional<int> jobs;
  bool is_quiet = false;
  bool is_verbose = false;
};

TEST_F(Words, AValueStandsInTheWordOrIsTheNextOne) {
  for (const WordList& words :
       {WordList{"--jobs=3"}, {"--jobs", "3"}, {"-j3"}, {"-j", "3"}, {"--cores=3"}}) {
    jobs.reset();
    CommandLine own{"check"};
    own.option("-j,--jobs,--cores", "N", "help", take_number(jobs, 1));
    EXPECT_TRUE(own.parse(words)) << words[0];
    EXPECT_EQ(jobs, 3) << words[0];
  }
}

TEST_F(Words, ValuesAreTakenInOrderAndAsTheyAre) {
  ASSERT_TRUE(line.parse({"--filter=[a,b]", "x", "--filter", "-b", "--filter=a=b", "-"}));
  EXPECT_EQ(filters, (WordList{"[a,b]", "-b", "a=b"}));
  EXPECT_EQ(operands, (WordList{"x", "-"}));
  EXPECT_TRUE(line.has("filter"));
  EXPECT_FALSE(line.has("jobs"));
}

TEST_F(Words, LettersOfSwitchesShareADash) {
  ASSERT_TRUE(line.parse({"-qvj3"}));
  EXPECT_TRUE(is_quiet && is_verbose);
  EXPECT_EQ(jobs, 3);
}

TEST_F(Words, NameWhatIsWrong) {
  EXPECT_EQ(error_of({"--jobs"}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--jobs="}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--jobs", "--quiet"}), "--jobs needs a value");
  EXPECT_EQ(error_of({"--quiet=1"}), "--quiet takes no value");
  EXPECT_EQ(error_of({"--job=1"}), "there is no option `--job`");
  EXPECT_EQ(error_of({"-qx"}), "there is no option `-x`");
  EXPECT_EQ(error_of({"--", "x"}), "`check` takes nothing after `--`");
  const auto explained = line.parse({"--foreign"}, [](const std::string& word) {
    return Error{{}, "see " + word, ""};
  });
  EXPECT_EQ(explained.error().what, "see --foreign");
}

struct PassOn : ::testing::Test {
  PassOn() {
    line.operands({"BASE", 1, 1}, operands);
    line.pass_on("OPTIONS...", rest);
    line.option("--make", "COMMAND", "help", take_text(make));
    line.may_be_empty("make");
  }

  CommandLine line{"check"};
  WordList operands;
  WordList rest;
  std::optional<std::string> make;
};

TEST_F(PassOn, OptionsAfterTheOperandAreNotRead) {
  const WordList words{"--make", "all", "main", "--make", "--jobs=3", "x"};
  ASSERT_TRUE(line.parse(words));
  EXPECT_EQ(make, "all");
  EXPECT_EQ(operands, WordList{"main"});
  EXPECT_EQ(rest, (WordList{"--make", "--jobs=3", "x"}));
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
  EXPECT_EQ(operands, WordList{"main"});
  EXPECT_EQ(report, "r");
  EXPECT_EQ(make, "all");
  EXPECT_EQ(rest, (WordList{"--jobs=3", "--filter", "x"}));
  EXPECT_FALSE(either.parse({"main", "--make"}));
}

TEST_F(PassOn, DashesBeforeTheRestAreDropped) {
  ASSERT_TRUE(line.parse({"main", "--", "--jobs=3"}));
  EXPECT_EQ(rest, WordList{"--jobs=3"});
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
