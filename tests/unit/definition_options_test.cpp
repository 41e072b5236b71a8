// The options of a command that name its definitions.
#include <gtest/gtest.h>

#include "core/history/record.h"

namespace instr::definition_options_test {
namespace {

using Words = std::vector<std::string>;

TEST(DefinitionOptions, AreSelectedFromACommand) {
  EXPECT_EQ(select_definition_options(
                {"instr_bench", "--record", "--definitions=bench.toml", "--filter=--suite=no",
                 "--suite", "timm", "--param=n=1,2", "--build=b.toml", "--definitions=bench.toml"},
                ""),
            (Words{"--definitions=bench.toml", "--suite=timm", "--param=n=1,2", "--build=b.toml"}));
  EXPECT_EQ(select_definition_options({"instr_bench", "--definitions"}, ""), Words{});
  EXPECT_EQ(select_definition_options({}, ""), Words{});
}

TEST(DefinitionOptions, AreRelativeToTheProject) {
  EXPECT_EQ(select_definition_options({"instr_bench", "--definitions=/project/sub/bench.toml",
                                       "--definitions=/other/bench.toml", "--definitions=own.toml"},
                                      "/project"),
            (Words{"--definitions=sub/bench.toml", "--definitions=/other/bench.toml",
                   "--definitions=own.toml"}));
}

}  // namespace
}  // namespace instr::definition_options_test
